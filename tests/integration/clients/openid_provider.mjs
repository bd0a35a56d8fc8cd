// A certified OpenID provider with one user, grace; prints a line once it listens.
import { createServer } from "node:http";
import { Provider } from "oidc-provider";

const [port, callback] = process.argv.slice(2);
const claims = {
  preferred_username: "grace",
  email: "grace@example.org",
  email_verified: true,
  groups: ["chemists"],
};
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{ client_id: "hub", client_secret: "secret", redirect_uris: [callback] }],
  claims: {
    openid: ["sub"],
    profile: ["preferred_username", "groups"],
    email: ["email", "email_verified"],
  },
  findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, ...claims }) }),
  pkce: { required: () => true },
});
createServer(provider.callback()).listen(port, "127.0.0.1", () => console.log("listening"));
