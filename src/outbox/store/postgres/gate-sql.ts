/** A gate as the contract has it, made by the database since only its clock counts; `g` is the gate's row and `n` has the time. */
import type { Gate } from '../rows.ts'

export const GATE_JSON = `json_build_object(
	'destination', g.destination,
	'state', g.state,
	'heldForMs', greatest(0, coalesce(g.held_until, 0) - n.ms),
	'reason', g.reason,
	'reopenings', g.reopenings,
	'delayMs', g.delay_ms,
	'openedAgoMs', case
		when coalesce(g.opened_at, g.held_until) is not null then greatest(0, n.ms - greatest(g.opened_at, g.held_until)) end,
	'version', g.version)`

/** The text of `json_agg`, which is null for none. */
export const readGates = (text: string | null): readonly Gate[] =>
	text === null ? [] : (JSON.parse(text) as Gate[])
