/**
 * Circuits, pauses and token buckets of destinations. Each change is one statement, whose row lock serializes
 * concurrent changes; computing them in JavaScript would take a transaction of four round trips. They repeat the
 * formulas of decisions/circuit.ts and decisions/tokens.ts, in the same double precision arithmetic. A test
 * compares both.
 */
import type { BoundedExecutor, StatementRunner } from '../../../sql/bounded-executor.ts'
import type { Big, Value } from '../../../sql/postgres-values.ts'
import { applyOperatorChange, type CircuitRecord, NO_CIRCUIT, toCircuit } from '../decisions/circuit.ts'
import { tokenGrant } from '../decisions/tokens.ts'
import type { DestinationCircuit, OperatorChange, SharedRate } from '../rows.ts'
import type { CoordinationStore } from '../store.ts'
import { MAX_TIME } from '../stored-values.ts'
import { auditChange } from './dead-letters.ts'

/** `g` is a row of the destinations. */
const CIRCUIT_JSON = `json_build_object('destination', g.destination, 'state', g.state, 'pausedUntil', g.paused_until,
	'reason', g.reason, 'failedProbes', g.failed_probes, 'delayMs', g.delay_ms, 'closedAt', g.closed_at, 'version', g.version,
	'operatorPause', case when g.operator_until is not null then json_build_object('until', g.operator_until, 'pausedAt', g.operator_at,
		'by', g.operator_by, 'reason', g.operator_reason) end)`

/** `text` is the result of `json_agg`, which is null for no rows. */
export const parseCircuits = (text: string | null, now: number): readonly DestinationCircuit[] =>
	parseRecords(text).map(({ destination, ...record }) => toCircuit(destination, record, now))

const parseRecords = (text: string | null): readonly (CircuitRecord & { destination: string })[] =>
	text === null ? [] : JSON.parse(text)

interface CircuitRows {
	readonly ms: Big
	readonly circuits: string | null
}

/** Selects the circuits of the destinations that a query named `destination` returns. The limit keeps it a lookup of each: a join may read the whole table. */
export const circuitsOf = (destinations: string): string => `
	select json_agg(c.circuit)::text from (${destinations}) d cross join lateral (
		select ${CIRCUIT_JSON} as circuit from {s}.outbox_destinations g
		where g.destination = d.destination and g.version > 0 limit 1
	) c`

const CIRCUITS = `
select {now} as ms, (${circuitsOf('select json_array_elements_text($1::text::json) as destination')}) as circuits`

const timeAfterSql = (now: string, ms: string): string =>
	`least(${now} + ceil(${ms}::double precision), ${MAX_TIME})::bigint`

/** One time for the whole statement: otherwise the returned pause would be shorter than the requested one. */
const NOW = '(select ms from clock)'

/**
 * A missing circuit has version 0, and so has a row that exists only for its tokens.
 *
 * `clock`: the time. `changed`: the circuit after the change, no row if another change came first.
 */
const CHANGE = `
with clock as materialized (select {now} as ms), changed as (
	insert into {s}.outbox_destinations as d (destination, state, paused_until, reason, failed_probes, delay_ms, version)
	select $1::text, $3::text, case when $4::double precision > 0 then ${timeAfterSql(NOW, '$4')} end, $5::text, $6::int,
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
select ${NOW} as ms, (select json_agg(${CIRCUIT_JSON})::text from changed g) as circuits`

const PAUSE = `
insert into {s}.outbox_destinations as d (destination, paused_until, reason, version)
values ($1::text, ${timeAfterSql('{now}', '$2')}, $3::text, 1)
on conflict (destination) do update
set paused_until = excluded.paused_until, reason = excluded.reason, version = d.version + 1
where d.paused_until is null or d.paused_until < excluded.paused_until`

/** Operators act rarely, so a transaction of several round trips may use the functions of decisions/circuit.ts directly. */
const ADD_DESTINATION =
	'insert into {s}.outbox_destinations (destination) values ($1::text) on conflict (destination) do nothing'
const LOCK_DESTINATION = 'select from {s}.outbox_destinations where destination = $1::text for update'
const SAVE = `
update {s}.outbox_destinations set state = $2::text, paused_until = $3::bigint, reason = $4::text, failed_probes = $5::int,
	delay_ms = $6::double precision, closed_at = $7::bigint, version = $8::bigint, operator_until = $9::bigint,
	operator_at = $10::bigint, operator_by = $11::text, operator_reason = $12::text
where destination = $1::text`

const saveValues = (destination: string, record: CircuitRecord): readonly Value[] => {
	const { state, pausedUntil, reason, failedProbes, delayMs, closedAt, version, operatorPause } = record
	return [
		...[destination, state, pausedUntil, reason, failedProbes, delayMs, closedAt, version],
		...[operatorPause?.until ?? null, operatorPause?.pausedAt ?? null],
		...[operatorPause?.by ?? null, operatorPause?.reason ?? null],
	]
}

async function changeByOperator(
	executor: StatementRunner,
	change: OperatorChange,
): Promise<{ readonly isChanged: boolean; readonly circuit: DestinationCircuit }> {
	const { destination } = change
	if (change.action === 'pause') await executor.run(ADD_DESTINATION, [destination])
	await executor.run(LOCK_DESTINATION, [destination])
	const [found] = await executor.run<CircuitRows>(CIRCUITS, [JSON.stringify([destination])])
	const now = Number(found?.ms)
	const [{ destination: _, ...before } = { destination, ...NO_CIRCUIT }] = parseRecords(
		found?.circuits ?? null,
	)
	const after = applyOperatorChange(before, change, now)
	if (after) {
		await executor.run(SAVE, saveValues(destination, after))
		await auditChange(executor, change, now)
	}
	return { isChanged: after !== undefined, circuit: toCircuit(destination, after ?? before, now) }
}

/** `clock`: the time. */
const PAUSED_BY_OPERATOR = `
with clock as materialized (select {now} as ms)
select clock.ms, (select json_agg(${CIRCUIT_JSON})::text from (
	select * from {s}.outbox_destinations where operator_until > clock.ms order by destination limit $1::int) g) as circuits
from clock`

/** $2 is the count, $3 to $5 the rate: limit, interval and burst. */
const [COUNT, LIMIT, INTERVAL, BURST] = ['$2', '$3', '$4', '$5'].map((name) => `${name}::double precision`)

const CAPACITY = `${BURST} * ${INTERVAL}`
const PARTS = `case when d.bucket_interval = ${INTERVAL} then d.bucket_parts
	else floor(d.bucket_parts / d.bucket_interval * ${INTERVAL}) end`
const filledAt = (now: string): string =>
	`least(${CAPACITY}, coalesce(${PARTS}, ${CAPACITY}) + greatest(0, ${now} - coalesce(d.bucket_at, 0)) * ${LIMIT})`

const FILLED = filledAt('excluded.bucket_at')
const GRANTED = `greatest(0, least(${COUNT}, floor(${FILLED} / ${INTERVAL})))`
const GRANTED_OF_FULL = `greatest(0, least(${COUNT}, ${BURST}))`

/** `granted` is a column because a statement can only return what it wrote. */
const ACQUIRE = `
insert into {s}.outbox_destinations as d (destination, bucket_parts, bucket_interval, bucket_at, granted)
values ($1::text, ${CAPACITY} - ${GRANTED_OF_FULL} * ${INTERVAL}, ${INTERVAL}, {now}, ${GRANTED_OF_FULL})
on conflict (destination) do update set
	bucket_parts = ${FILLED} - ${GRANTED} * ${INTERVAL}, bucket_interval = excluded.bucket_interval,
	bucket_at = excluded.bucket_at, granted = ${GRANTED}
returning bucket_parts as parts, granted`

const rateValues = (destination: string, count: number, { limit, intervalMs, burst }: SharedRate) => [
	destination,
	count,
	limit,
	intervalMs,
	burst,
]

const RETURN = `
update {s}.outbox_destinations as d set
	bucket_parts = least(${CAPACITY}, ${filledAt('{now}')} + ${COUNT} * ${INTERVAL}), bucket_interval = ${INTERVAL}, bucket_at = {now}
where d.destination = $1::text and d.bucket_parts is not null`

export function circuitOperations(executor: BoundedExecutor): Omit<CoordinationStore, 'acquirePermits'> {
	const circuits: CoordinationStore['circuits'] = async (destinations) => {
		const [found] = await executor.run<CircuitRows>(CIRCUITS, [JSON.stringify(destinations)])
		return parseCircuits(found?.circuits ?? null, Number(found?.ms))
	}
	return {
		circuits,
		async changeCircuit({ destination, version, state, pausedForMs, reason, failedProbes, delayMs }) {
			const values = [destination, version, state, pausedForMs, reason, failedProbes, delayMs]
			const [result] = await executor.run<CircuitRows>(CHANGE, values)
			const [changed] = parseCircuits(result?.circuits ?? null, Number(result?.ms))
			if (changed !== undefined) return { isApplied: true, circuit: changed }
			const [found] = await circuits([destination])
			return { isApplied: false, circuit: found ?? toCircuit(destination, NO_CIRCUIT, 0) }
		},
		async pause(destination, forMs, reason) {
			if (forMs > 0) await executor.run(PAUSE, [destination, forMs, reason])
		},
		changeByOperator: (change) =>
			executor.transaction((transaction) => changeByOperator(transaction, change)),
		async operatorPauses(limit) {
			const [found] = await executor.run<CircuitRows>(PAUSED_BY_OPERATOR, [limit])
			return parseCircuits(found?.circuits ?? null, Number(found?.ms))
		},
		async acquireTokens(destination, count, rate) {
			const values = rateValues(destination, count, rate)
			const [row] = await executor.run<{ parts: number; granted: number }>(ACQUIRE, values)
			return tokenGrant(Number(row?.granted), count, Number(row?.parts), rate)
		},
		async returnTokens(destination, count, rate) {
			await executor.run(RETURN, rateValues(destination, count, rate))
		},
	}
}
