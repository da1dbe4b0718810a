/** Running relays and their permits. */
import type { BoundedExecutor } from '../../../sql/bounded-executor.ts'
import { type Big, withNumbers } from '../../../sql/postgres-values.ts'
import { grantPermits, type PermitHolder } from '../decisions/permits.ts'
import type { RelayRow } from '../rows.ts'
import type { OutboxStore, RelayRegistry } from '../store.ts'
import { timeAfter } from '../stored-values.ts'

const LOCK = `
insert into {s}.outbox_destinations as d (destination) values ($1::text)
on conflict (destination) do update set destination = excluded.destination
returning {now} as ms`

const OTHERS = `
select owner, wanted, permits from {s}.outbox_permits
where destination = $1::text and owner <> $2::text and until > $3::bigint`

const SAVE = `
insert into {s}.outbox_permits (destination, owner, permits, wanted, until) values ($1::text, $2::text, $3::int, $4::int, $5::bigint)
on conflict (destination, owner) do update set permits = excluded.permits, wanted = excluded.wanted, until = excluded.until`

const HEARTBEAT = `
insert into {s}.outbox_relays as r
	(id, host, pid, destinations, ordered_destinations, heartbeat_ms, in_flight, sent, failed, dead, throughput, started_at, seen_at)
values ($1::text, $2::text, $3::int, $4::text, $5::text, $6::double precision, $7::double precision, $8::double precision,
	$9::double precision, $10::double precision, $11::double precision, {now}, {now})
on conflict (id) do update set
	host = excluded.host, pid = excluded.pid, destinations = excluded.destinations,
	ordered_destinations = excluded.ordered_destinations, heartbeat_ms = excluded.heartbeat_ms, in_flight = excluded.in_flight,
	sent = excluded.sent, failed = excluded.failed, dead = excluded.dead, throughput = excluded.throughput, seen_at = excluded.seen_at`

/** `gone`: the forgotten relays. */
const FORGET = `
with gone as (delete from {s}.outbox_relays where seen_at < {now} - $1::bigint returning id)
delete from {s}.outbox_permits where owner in (select id from gone) or until < {now} - $1::bigint`

/** `removed`: the relay. */
const REMOVE = `
with removed as (delete from {s}.outbox_relays where id = $1::text)
delete from {s}.outbox_permits where owner = $1::text`

const RELAYS = `
select id, host, pid, destinations, ordered_destinations as "orderedDestinations", heartbeat_ms as "heartbeatMs",
	in_flight as "inFlight", sent, failed, dead, throughput, started_at as "startedAt", seen_at as "seenAt"
from {s}.outbox_relays order by started_at, id`

const NUMBERS = [
	...(['pid', 'heartbeatMs', 'inFlight', 'sent', 'failed'] as const),
	...(['dead', 'throughput', 'startedAt', 'seenAt'] as const),
]

/** Stored as JSON. */
type Lists = 'destinations' | 'orderedDestinations'

export const relayOperations = (
	executor: BoundedExecutor,
): RelayRegistry & Pick<OutboxStore, 'acquirePermits'> => ({
	/** Locks the destination before it reads the other relays' permits, so that the sum includes everything committed. */
	acquirePermits(request) {
		const { destination, owner, wanted, leaseMs } = request
		return executor.transaction(async (transaction) => {
			const [locked] = await transaction.run<{ ms: Big }>(LOCK, [destination])
			const now = Number(locked?.ms)
			const rows = await transaction.run<PermitHolder>(OTHERS, [destination, owner, now])
			const others = rows.map((row) => withNumbers(row, ['wanted', 'permits']))
			const { granted, recorded } = grantPermits(request, others)
			await transaction.run(SAVE, [destination, owner, recorded, wanted, timeAfter(now, leaseMs)])
			return granted
		})
	},
	async heartbeat(report, forgetAfterMs) {
		const { id, host, pid, destinations, orderedDestinations, heartbeatMs } = report
		const { inFlight, sent, failed, dead, throughput } = report
		const names = [destinations, orderedDestinations].map((list) => JSON.stringify(list))
		const numbers = [heartbeatMs, inFlight, sent, failed, dead, throughput]
		await executor.run(HEARTBEAT, [id, host, pid, ...names, ...numbers])
		await executor.run(FORGET, [Math.ceil(forgetAfterMs)])
	},
	async removeRelay(owner) {
		await executor.run(REMOVE, [owner])
	},
	async relays() {
		const rows = await executor.run<Omit<RelayRow, Lists> & Readonly<Record<Lists, string>>>(RELAYS)
		return rows.map((row) => ({
			...withNumbers(row, NUMBERS),
			destinations: JSON.parse(row.destinations) as string[],
			orderedDestinations: JSON.parse(row.orderedDestinations) as string[],
		}))
	},
})
