"""The command mcp: the hub as a server of the Model Context Protocol, on standard streams.

The protocol is that of the official package `mcp` (modelcontextprotocol.io); the tools are those of
`hub.cli.model_tools`.
"""

from __future__ import annotations

import argparse
import functools
from typing import Any

import hub
from hub.cli import model_tools
from hub.client import api
from hub.protocol import problems
from hub.terminal import DONE

_SCHEME, _CARD_FILE, _MARKDOWN = "hub://", "/README.md", "text/markdown"


def add_to(commands: Any) -> None:
    """Add the command to the parser of `hub`."""
    parser = commands.add_parser(
        "mcp",
        help="serve the hub to a language model by the Model Context Protocol",
        description="Serve the hub to a language model by the Model Context Protocol, on standard "
        "input and output. The program of the model starts this command. Reads only, unless "
        "--write is given.",
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="offer the commands that change something, as far as the token permits",
    )
    parser.set_defaults(command=_serve)


def _serve(options: argparse.Namespace) -> int:
    try:
        import anyio  # noqa: PLC0415  (of the extra)
        from mcp.server.stdio import stdio_server  # noqa: PLC0415
    except ImportError as error:
        raise problems.LibraryMissing(
            f"hub mcp needs {error.name}: pip install 'onnx-hub[mcp]'"
        ) from None
    server = _server(write=options.write)

    async def run() -> None:
        async with stdio_server() as (reader, writer):
            await server.run(reader, writer, server.create_initialization_options())

    anyio.run(run)
    return DONE


class _Handlers:
    """The answers of the server to the requests of the protocol."""

    def __init__(self, *, write: bool) -> None:
        import anyio  # noqa: PLC0415  (of the extra)
        from mcp import types  # noqa: PLC0415

        self._types = types
        self._run_in_thread = anyio.to_thread.run_sync
        # Output is collected from the streams of the process, so one command runs at a time.
        self._limiter = anyio.CapacityLimiter(1)
        self._tools = {tool.name: tool for tool in model_tools.tools(write=write)}

    async def list_tools(self, context: Any, parameters: Any) -> Any:
        """Answer `tools/list`."""
        types = self._types
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=tool.name,
                    description=tool.description,
                    input_schema=tool.schema,
                    annotations=types.ToolAnnotations(
                        read_only_hint=tool.is_read, destructive_hint=False
                    ),
                )
                for tool in self._tools.values()
            ]
        )

    async def call_tool(self, context: Any, parameters: Any) -> Any:
        """Answer `tools/call`; what the hub refuses is an error of the tool, in its words."""
        if parameters.name not in self._tools:
            raise self._invalid(f"Unknown tool {parameters.name[:80]!r}")
        text, has_failed = await self._call(parameters.name, parameters.arguments or {})
        content = [self._types.TextContent(type="text", text=text)]
        return self._types.CallToolResult(content=content, is_error=has_failed)

    async def list_templates(self, context: Any, parameters: Any) -> Any:
        """Answer `resources/templates/list`: the card of each version."""
        template = self._types.ResourceTemplate(
            name="card",
            uri_template=f"{_SCHEME}{{+ref}}{_CARD_FILE}",
            description="The card of a version, such as hub://zoo/resnet50@3/README.md. "
            f"{model_tools.UNTRUSTED}",
            mime_type=_MARKDOWN,
        )
        return self._types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(self, context: Any, parameters: Any) -> Any:
        """Answer `resources/read` with a card."""
        uri = str(parameters.uri)
        if not (uri.startswith(_SCHEME) and uri.endswith(_CARD_FILE)):
            raise self._invalid(f"Unknown resource {uri[:200]!r}")
        ref = uri.removeprefix(_SCHEME).removesuffix(_CARD_FILE)
        text, has_failed = await self._call(model_tools.CARD, {"ref": ref})
        if has_failed:
            raise self._invalid(text)
        content = self._types.TextResourceContents(uri=uri, mime_type=_MARKDOWN, text=text)
        return self._types.ReadResourceResult(contents=[content])

    async def _call(self, name: str, values: dict[str, Any]) -> tuple[str, bool]:
        run = functools.partial(self._tools[name].call, values)
        answer: tuple[str, bool] = await self._run_in_thread(run, limiter=self._limiter)
        return answer

    def _invalid(self, message: str) -> Exception:
        from mcp import MCPError  # noqa: PLC0415  (of the extra)

        error: Exception = MCPError(self._types.INVALID_PARAMS, message)
        return error


def _server(*, write: bool) -> Any:
    from mcp.server import Server  # noqa: PLC0415  (of the extra)

    handlers = _Handlers(write=write)
    return Server(
        "onnx-hub",
        version=hub.__version__,
        instructions=f"Tools of the ONNX model hub at {api.default_hub().config.url}. "
        f"A model is namespace/name, a version namespace/name@number. {model_tools.UNTRUSTED}",
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
    )
