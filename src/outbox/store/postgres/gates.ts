/** What all relays know of a destination. Every change is one statement, so that of two that come together one is first. */
import type { CircuitChange, DestinationCircuit, PauseReason } from '../rows.ts'
import type { Database } from './connection.ts'
import { GATE_JSON, readGates } from './gate-sql.ts'
import { asJson } from './rows.ts'

const GATES = `
select json_agg(${GATE_JSON})::text as gates
from (select {now} as ms) n cross join {s}.outbox_destinations g
where g.version > 0 and g.destination in (select json_array_elements_text($1::text::json))`

export async function gates(
	database: Database,
	destinations: readonly string[],
): Promise<readonly DestinationCircuit[]> {
	const [answer] = await database.run<{ gates: string | null }>(GATES, [asJson(destinations)])
	return readGates(answer?.gates ?? null)
}

/** When a hold or an open time ends. No further than a Date can tell. */
const until = (now: string, ms: string): string =>
	`least(${now} + ceil(${ms}::double precision), 8640000000000000)::bigint`

/** The same moment wherever it is asked for, or a hold would be a little shorter in the answer than it was asked to be. */
const NOW = '(select ms from n)'

/** A gate that nobody has is of version 0; so is a row that is there for its tokens only. */
const TURN = `
with n as materialized (select {now} as ms), g as (
	insert into {s}.outbox_destinations as d (destination, state, paused_until, reason, failed_probes, delay_ms, version)
	select $1::text, $3::text, case when $4::double precision > 0 then ${until(NOW, '$4')} end, $5::text, $6::int,
		$7::double precision, 1
	where $2::bigint = 0 or exists (select from {s}.outbox_destinations x where x.destination = $1::text)
	on conflict (destination) do update set
		state = excluded.state, paused_until = excluded.paused_until, reason = excluded.reason,
		failed_probes = excluded.failed_probes, delay_ms = excluded.delay_ms, version = d.version + 1,
		closed_at = case
			when excluded.state = 'closed' and (d.state <> 'closed' or d.paused_until > ${NOW}) then ${NOW}
			else greatest(d.closed_at, d.paused_until) end
	where d.version = $2::bigint
	returning *
)
select json_agg(${GATE_JSON})::text as gates from g cross join n`

export async function turnGate(
	database: Database,
	change: CircuitChange,
): Promise<{ readonly isApplied: boolean; readonly circuit: DestinationCircuit }> {
	const { destination, version, state, pausedForMs, reason, failedProbes, delayMs } = change
	const [answer] = await database.run<{ gates: string | null }>(TURN, [
		destination,
		version,
		state,
		pausedForMs,
		reason,
		failedProbes,
		delayMs,
	])
	const [turned] = readGates(answer?.gates ?? null)
	if (turned !== undefined) return { isApplied: true, circuit: turned }
	const [found] = await gates(database, [destination])
	return { isApplied: false, circuit: found ?? noGate(destination) }
}

const noGate = (destination: string): DestinationCircuit => ({
	destination,
	state: 'closed',
	pausedForMs: 0,
	reason: null,
	failedProbes: 0,
	delayMs: 0,
	closedAgoMs: null,
	version: 0,
})

/** A longer hold stays as it is, with its reason. */
const HOLD = `
insert into {s}.outbox_destinations as d (destination, paused_until, reason, version)
values ($1::text, ${until('{now}', '$2')}, $3::text, 1)
on conflict (destination) do update
set paused_until = excluded.paused_until, reason = excluded.reason, version = d.version + 1
where d.paused_until is null or d.paused_until < excluded.paused_until`

export async function hold(
	database: Database,
	destination: string,
	forMs: number,
	reason: PauseReason,
): Promise<void> {
	if (forMs > 0) await database.run(HOLD, [destination, forMs, reason])
}
