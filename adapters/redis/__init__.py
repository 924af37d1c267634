"""Redis: working memory."""
