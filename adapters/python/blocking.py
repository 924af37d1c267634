"""The synchronous Python API, derived from the async one."""

from pathlib import Path
from typing import Any

from mnemolog.memory import AsyncMemory
from mnemolog.mirror import Blocking, mirrored


class Memory(Blocking):
    """Memory for agents: `AsyncMemory` without the `await`. Safe to use from several threads.

    Example:
        memory = Memory()
        memory.add("I moved to Lisbon", user_id="ana")
        memory.search("where does Ana live?", user_id="ana")
    """

    def __init__(
        self,
        data_dir: str | Path | None = None,
        *,
        user_id: str | None = None,
        agent_id: str = "default",
        thread_id: str = "main",
        **settings: Any,
    ) -> None:
        super().__init__(AsyncMemory(data_dir, user_id=user_id, agent_id=agent_id, thread_id=thread_id, **settings))

    add = mirrored(AsyncMemory.add)
    session = mirrored(AsyncMemory.session)
    list_messages = mirrored(AsyncMemory.list_messages)
    get_message = mirrored(AsyncMemory.get_message)
    delete_message = mirrored(AsyncMemory.delete_message)
    restore_message = mirrored(AsyncMemory.restore_message)
    erase_message = mirrored(AsyncMemory.erase_message)
    list_summaries = mirrored(AsyncMemory.list_summaries)
    get_summary = mirrored(AsyncMemory.get_summary)
    set_affect = mirrored(AsyncMemory.set_affect)
    get_affect = mirrored(AsyncMemory.get_affect)
    set_focus = mirrored(AsyncMemory.set_focus)
    create = mirrored(AsyncMemory.create)
    get = mirrored(AsyncMemory.get)
    list = mirrored(AsyncMemory.list)
    search = mirrored(AsyncMemory.search)
    respond = mirrored(AsyncMemory.respond)
    envelope = mirrored(AsyncMemory.envelope)
    validate_envelope = mirrored(AsyncMemory.validate_envelope)
    check_claims = mirrored(AsyncMemory.check_claims)
    context = mirrored(AsyncMemory.context)
    served = mirrored(AsyncMemory.served)
    cards = mirrored(AsyncMemory.cards)
    history = mirrored(AsyncMemory.history)
    why = mirrored(AsyncMemory.why)
    changes = mirrored(AsyncMemory.changes)
    stats = mirrored(AsyncMemory.stats)
    update = mirrored(AsyncMemory.update)
    merge = mirrored(AsyncMemory.merge)
    link = mirrored(AsyncMemory.link)
    links = mirrored(AsyncMemory.links)
    archive = mirrored(AsyncMemory.archive)
    delete = mirrored(AsyncMemory.delete)
    restore = mirrored(AsyncMemory.restore)
    undo = mirrored(AsyncMemory.undo)
    erase = mirrored(AsyncMemory.erase)
    erase_thread = mirrored(AsyncMemory.erase_thread)
    erase_user = mirrored(AsyncMemory.erase_user)
    erase_entity = mirrored(AsyncMemory.erase_entity)
    erase_fact = mirrored(AsyncMemory.erase_fact)
    erase_profile = mirrored(AsyncMemory.erase_profile)
    erase_artifact = mirrored(AsyncMemory.erase_artifact)
    erase_todo = mirrored(AsyncMemory.erase_todo)
    prove_erased = mirrored(AsyncMemory.prove_erased)
    export_user = mirrored(AsyncMemory.export_user)
    import_user = mirrored(AsyncMemory.import_user)
    rollback = mirrored(AsyncMemory.rollback)
    forget = mirrored(AsyncMemory.forget)
    erase_scope = mirrored(AsyncMemory.erase_scope)
    get_profile = mirrored(AsyncMemory.get_profile)
    propose_profile = mirrored(AsyncMemory.propose_profile)
    list_consent = mirrored(AsyncMemory.list_consent)
    grant_consent = mirrored(AsyncMemory.grant_consent)
    refuse_consent = mirrored(AsyncMemory.refuse_consent)
    profile_history = mirrored(AsyncMemory.profile_history)
    list_threads = mirrored(AsyncMemory.list_threads)
    get_thread = mirrored(AsyncMemory.get_thread)
    list_sessions = mirrored(AsyncMemory.list_sessions)
    get_session = mirrored(AsyncMemory.get_session)
    list_episodes = mirrored(AsyncMemory.list_episodes)
    get_episode = mirrored(AsyncMemory.get_episode)
    list_todos = mirrored(AsyncMemory.list_todos)
    todo_history = mirrored(AsyncMemory.todo_history)
    add_todo = mirrored(AsyncMemory.add_todo)
    update_todo = mirrored(AsyncMemory.update_todo)
    seed = mirrored(AsyncMemory.seed)
    add_artifact = mirrored(AsyncMemory.add_artifact)
    download_artifact = mirrored(AsyncMemory.download_artifact)
    get_artifact = mirrored(AsyncMemory.get_artifact)
    list_artifacts = mirrored(AsyncMemory.list_artifacts)
    search_artifacts = mirrored(AsyncMemory.search_artifacts)
    list_artifact_texts = mirrored(AsyncMemory.list_artifact_texts)
    describe_artifact = mirrored(AsyncMemory.describe_artifact)
    delete_artifact = mirrored(AsyncMemory.delete_artifact)
    restore_artifact = mirrored(AsyncMemory.restore_artifact)
    add_document = mirrored(AsyncMemory.add_document)
    search_knowledge = mirrored(AsyncMemory.search_knowledge)
    list_documents = mirrored(AsyncMemory.list_documents)
    get_document = mirrored(AsyncMemory.get_document)
    document_history = mirrored(AsyncMemory.document_history)
    delete_document = mirrored(AsyncMemory.delete_document)
    restore_document = mirrored(AsyncMemory.restore_document)
    undo_document = mirrored(AsyncMemory.undo_document)
    erase_document = mirrored(AsyncMemory.erase_document)
    prove_document_erased = mirrored(AsyncMemory.prove_document_erased)
    add_entity = mirrored(AsyncMemory.add_entity)
    list_entities = mirrored(AsyncMemory.list_entities)
    get_entity = mirrored(AsyncMemory.get_entity)
    update_entity = mirrored(AsyncMemory.update_entity)
    add_alias = mirrored(AsyncMemory.add_alias)
    merge_entities = mirrored(AsyncMemory.merge_entities)
    delete_entity = mirrored(AsyncMemory.delete_entity)
    restore_entity = mirrored(AsyncMemory.restore_entity)
    list_variants = mirrored(AsyncMemory.list_variants)
    add_fact = mirrored(AsyncMemory.add_fact)
    list_facts = mirrored(AsyncMemory.list_facts)
    end_fact = mirrored(AsyncMemory.end_fact)
    retire_fact = mirrored(AsyncMemory.retire_fact)
    delete_fact = mirrored(AsyncMemory.delete_fact)
    restore_fact = mirrored(AsyncMemory.restore_fact)
