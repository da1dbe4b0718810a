/** A gate as the contract has it, made by the database since only its clock counts; `g` is the gate's row and `n` has the time. */
import type { DestinationCircuit } from '../rows.ts'

export const GATE_JSON = `json_build_object(
	'destination', g.destination,
	'state', g.state,
	'pausedForMs', greatest(0, coalesce(g.paused_until, 0) - n.ms),
	'reason', g.reason,
	'failedProbes', g.failed_probes,
	'delayMs', g.delay_ms,
	'closedAgoMs', case
		when coalesce(g.closed_at, g.paused_until) is not null then greatest(0, n.ms - greatest(g.closed_at, g.paused_until)) end,
	'version', g.version)`

/** The text of `json_agg`, which is null for none. */
export const readGates = (text: string | null): readonly DestinationCircuit[] =>
	text === null ? [] : (JSON.parse(text) as DestinationCircuit[])
