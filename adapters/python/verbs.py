"""All verbs of the Python API."""

from mnemolog.artifacts import ArtifactVerbs
from mnemolog.batches import BatchVerbs
from mnemolog.being import BeingVerbs
from mnemolog.conversation import ConversationVerbs
from mnemolog.episodes import EpisodeVerbs
from mnemolog.erasing import ErasureVerbs
from mnemolog.graph import GraphVerbs
from mnemolog.knowledge import KnowledgeVerbs
from mnemolog.mirror import Blocking, mirrored, mirrored_iterator
from mnemolog.profile import ProfileVerbs
from mnemolog.reading import ReadVerbs
from mnemolog.transfer import TransferVerbs
from mnemolog.watching import WatchVerbs
from mnemolog.webhooks import WebhookVerbs
from mnemolog.writing import WriteVerbs


class Verbs(
    WriteVerbs,
    ReadVerbs,
    ConversationVerbs,
    EpisodeVerbs,
    GraphVerbs,
    ProfileVerbs,
    BatchVerbs,
    ErasureVerbs,
    TransferVerbs,
    ArtifactVerbs,
    KnowledgeVerbs,
    BeingVerbs,
    WatchVerbs,
    WebhookVerbs,
):
    """The verbs of `AsyncMemory` and `AsyncClient`."""


class BlockingVerbs(Blocking):
    """The verbs of `Memory` and `Client`."""

    add = mirrored(Verbs.add)
    session = mirrored(Verbs.session)
    list_messages = mirrored(Verbs.list_messages)
    get_message = mirrored(Verbs.get_message)
    delete_message = mirrored(Verbs.delete_message)
    restore_message = mirrored(Verbs.restore_message)
    erase_message = mirrored(Verbs.erase_message)
    list_summaries = mirrored(Verbs.list_summaries)
    get_summary = mirrored(Verbs.get_summary)
    set_affect = mirrored(Verbs.set_affect)
    get_affect = mirrored(Verbs.get_affect)
    set_focus = mirrored(Verbs.set_focus)
    create = mirrored(Verbs.create)
    get = mirrored(Verbs.get)
    list = mirrored(Verbs.list)
    search = mirrored(Verbs.search)
    respond = mirrored(Verbs.respond)
    envelope = mirrored(Verbs.envelope)
    validate_envelope = mirrored(Verbs.validate_envelope)
    check_claims = mirrored(Verbs.check_claims)
    context = mirrored(Verbs.context)
    served = mirrored(Verbs.served)
    cards = mirrored(Verbs.cards)
    history = mirrored(Verbs.history)
    why = mirrored(Verbs.why)
    changes = mirrored(Verbs.changes)
    stats = mirrored(Verbs.stats)
    update = mirrored(Verbs.update)
    merge = mirrored(Verbs.merge)
    link = mirrored(Verbs.link)
    links = mirrored(Verbs.links)
    archive = mirrored(Verbs.archive)
    delete = mirrored(Verbs.delete)
    restore = mirrored(Verbs.restore)
    confirm = mirrored(Verbs.confirm)
    undo = mirrored(Verbs.undo)
    erase = mirrored(Verbs.erase)
    erase_thread = mirrored(Verbs.erase_thread)
    erase_user = mirrored(Verbs.erase_user)
    erase_entity = mirrored(Verbs.erase_entity)
    erase_fact = mirrored(Verbs.erase_fact)
    erase_profile = mirrored(Verbs.erase_profile)
    erase_artifact = mirrored(Verbs.erase_artifact)
    erase_being_entry = mirrored(Verbs.erase_being_entry)
    erase_todo = mirrored(Verbs.erase_todo)
    prove_erased = mirrored(Verbs.prove_erased)
    export_user = mirrored(Verbs.export_user)
    import_user = mirrored(Verbs.import_user)
    rollback = mirrored(Verbs.rollback)
    forget = mirrored(Verbs.forget)
    erase_scope = mirrored(Verbs.erase_scope)
    get_profile = mirrored(Verbs.get_profile)
    propose_profile = mirrored(Verbs.propose_profile)
    list_consent = mirrored(Verbs.list_consent)
    grant_consent = mirrored(Verbs.grant_consent)
    refuse_consent = mirrored(Verbs.refuse_consent)
    profile_history = mirrored(Verbs.profile_history)
    list_threads = mirrored(Verbs.list_threads)
    get_thread = mirrored(Verbs.get_thread)
    list_sessions = mirrored(Verbs.list_sessions)
    get_session = mirrored(Verbs.get_session)
    list_episodes = mirrored(Verbs.list_episodes)
    get_episode = mirrored(Verbs.get_episode)
    list_todos = mirrored(Verbs.list_todos)
    todo_history = mirrored(Verbs.todo_history)
    add_todo = mirrored(Verbs.add_todo)
    update_todo = mirrored(Verbs.update_todo)
    put_being_entry = mirrored(Verbs.put_being_entry)
    list_being_entries = mirrored(Verbs.list_being_entries)
    mark_note = mirrored(Verbs.mark_note)
    remove_being_entry = mirrored(Verbs.remove_being_entry)
    being_context = mirrored(Verbs.being_context)
    recall = mirrored(Verbs.recall)
    recall_memory = mirrored(Verbs.recall_memory)
    search_memory = mirrored(Verbs.search_memory)
    being_entry_history = mirrored(Verbs.being_entry_history)
    run_patrol = mirrored(Verbs.run_patrol)
    list_clusters = mirrored(Verbs.list_clusters)
    seed = mirrored(Verbs.seed)
    add_artifact = mirrored(Verbs.add_artifact)
    download_artifact = mirrored(Verbs.download_artifact)
    get_artifact = mirrored(Verbs.get_artifact)
    list_artifacts = mirrored(Verbs.list_artifacts)
    search_artifacts = mirrored(Verbs.search_artifacts)
    list_artifact_texts = mirrored(Verbs.list_artifact_texts)
    describe_artifact = mirrored(Verbs.describe_artifact)
    delete_artifact = mirrored(Verbs.delete_artifact)
    restore_artifact = mirrored(Verbs.restore_artifact)
    add_document = mirrored(Verbs.add_document)
    search_knowledge = mirrored(Verbs.search_knowledge)
    list_documents = mirrored(Verbs.list_documents)
    get_document = mirrored(Verbs.get_document)
    document_history = mirrored(Verbs.document_history)
    delete_document = mirrored(Verbs.delete_document)
    restore_document = mirrored(Verbs.restore_document)
    undo_document = mirrored(Verbs.undo_document)
    erase_document = mirrored(Verbs.erase_document)
    prove_document_erased = mirrored(Verbs.prove_document_erased)
    add_entity = mirrored(Verbs.add_entity)
    list_entities = mirrored(Verbs.list_entities)
    get_entity = mirrored(Verbs.get_entity)
    update_entity = mirrored(Verbs.update_entity)
    add_alias = mirrored(Verbs.add_alias)
    merge_entities = mirrored(Verbs.merge_entities)
    delete_entity = mirrored(Verbs.delete_entity)
    restore_entity = mirrored(Verbs.restore_entity)
    list_variants = mirrored(Verbs.list_variants)
    add_fact = mirrored(Verbs.add_fact)
    list_facts = mirrored(Verbs.list_facts)
    end_fact = mirrored(Verbs.end_fact)
    retire_fact = mirrored(Verbs.retire_fact)
    delete_fact = mirrored(Verbs.delete_fact)
    restore_fact = mirrored(Verbs.restore_fact)
    confirm_fact = mirrored(Verbs.confirm_fact)
    extract_facts = mirrored(Verbs.extract_facts)
    watch = mirrored_iterator(Verbs.watch)
    create_webhook = mirrored(Verbs.create_webhook)
    list_webhooks = mirrored(Verbs.list_webhooks)
    delete_webhook = mirrored(Verbs.delete_webhook)
    resume_webhook = mirrored(Verbs.resume_webhook)
    rotate_secret = mirrored(Verbs.rotate_secret)
    test_webhook = mirrored(Verbs.test_webhook)
    list_deliveries = mirrored(Verbs.list_deliveries)
    redeliver = mirrored(Verbs.redeliver)
