// The reference function of A §8, as the specification gives it, but for the clock, which is passed in.
// Reads a JSON list of cases on standard input and prints the affect that each of them leaves.

function maintain(item, now) {
  const redisAffect = item.json.redis_affect ?? null;
  const session = item.json.session ?? {};
  const lastMsg = (item.json.last_message ?? "").toString();
  const affect = redisAffect;

  // Rule 1: Temporal Decay
  if (new Date(affect.affect.decay_at) < now) {
    affect.affect.label = "neutral";
    affect.affect.confidence = 0.0;
    affect.affect.markers = ["expired_decay"];
  }

  // Rule 2: Pulse decay every N messages
  const msgCount = Number(session.msg_count ?? 0);
  const pulseEvery = Number(affect.affect?.pulse?.every_n_messages ?? 3);

  if (msgCount > 0 && msgCount % pulseEvery === 0) {
    const shortFunctional = lastMsg.trim().length < 10;
    if (shortFunctional) affect.affect.confidence *= 0.7;

    // gentle decay prevents loops
    affect.affect.confidence *= 0.95;

    affect.affect.pulse = {
      every_n_messages: pulseEvery,
      last_pulse_at: now.toISOString(),
      still_valid: affect.affect.confidence >= 0.3
    };
  }

  // Rule 3: Forced Flush
  if (affect.affect.confidence < 0.3) {
    affect.affect.label = "neutral";
    affect.affect.confidence = 0.0;
    affect.affect.markers = [...(affect.affect.markers ?? []), "forced_flush_low_conf"];
  }
  return affect;
}

let text = "";
for await (const chunk of process.stdin) text += chunk;
const left = JSON.parse(text).map((one) => maintain({ json: one }, new Date(one.now)).affect);
process.stdout.write(JSON.stringify(left));
