"""Models behind an API that is compatible with OpenAI's: OpenAI, vLLM, Ollama, LM Studio, TEI and others."""
