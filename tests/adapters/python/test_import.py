"""What a program pays for that imports the Python face: no driver and no framework, until it asks for something."""

import subprocess
import sys

HEAVY = (
    "faststream",
    "langchain_core",
    "langgraph",
    "nats",
    "numpy",
    "onnxruntime",
    "psycopg",
    "pydantic",
    "redis",
    "sqlalchemy",
    "typer",
)
LOADED = f"print([name for name in {HEAVY} if name in sys.modules])"


def test_the_import_of_memory_loads_no_driver_and_no_framework() -> None:
    program = f"import sys; from mnemolog import AsyncMemory, Memory, MnemologError; {LOADED}"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_an_object_is_made_without_a_driver() -> None:
    program = f"import sys; from mnemolog import Memory; Memory(user_id='ana'); {LOADED}"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "['pydantic']"  # For its settings.


def test_who_has_no_langgraph_is_told_what_to_install() -> None:
    program = "import sys; sys.modules['langgraph'] = None; import mnemolog.langgraph"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.stderr.strip().endswith("mnemolog.langgraph needs LangGraph: pip install 'mnemolog[langgraph]'")
