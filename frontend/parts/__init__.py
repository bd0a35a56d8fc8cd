"""Parts that every page uses: labels, formatting, Markdown, forms, streams."""
