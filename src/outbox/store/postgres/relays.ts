/** Which relays are alive, for people and for each other. */
import type { RelayReport, RelayRow } from '../rows.ts'
import type { Database } from './connection.ts'
import { forget } from './permits.ts'
import { asJson, type Big } from './rows.ts'

const BEAT = `
insert into {s}.outbox_relays as r
	(id, host, pid, destinations, in_flight, sent, failed, dead, throughput, started_at, seen_at)
values ($1::text, $2::text, $3::int, $4::text, $5::double precision, $6::double precision, $7::double precision,
	$8::double precision, $9::double precision, {now}, {now})
on conflict (id) do update set
	host = excluded.host, pid = excluded.pid, destinations = excluded.destinations, in_flight = excluded.in_flight,
	sent = excluded.sent, failed = excluded.failed, dead = excluded.dead, throughput = excluded.throughput,
	seen_at = greatest(r.seen_at, excluded.seen_at)`

export async function beat(database: Database, report: RelayReport, forgetAfterMs: number): Promise<void> {
	const { id, host, pid, destinations, inFlight, sent, failed, dead, throughput } = report
	await database.run(BEAT, [id, host, pid, asJson(destinations), inFlight, sent, failed, dead, throughput])
	await forget(database, forgetAfterMs)
}

interface Row {
	readonly id: string
	readonly host: string
	readonly pid: Big
	readonly destinations: string
	readonly in_flight: Big
	readonly sent: Big
	readonly failed: Big
	readonly dead: Big
	readonly throughput: Big
	readonly started_at: Big
	readonly seen_at: Big
}

const RELAYS = `
select id, host, pid, destinations, in_flight, sent, failed, dead, throughput, started_at, seen_at
from {s}.outbox_relays order by started_at, id`

export async function relays(database: Database): Promise<readonly RelayRow[]> {
	const rows = await database.run<Row>(RELAYS)
	return rows.map((row) => ({
		id: row.id,
		host: row.host,
		pid: Number(row.pid),
		destinations: JSON.parse(row.destinations) as string[],
		inFlight: Number(row.in_flight),
		sent: Number(row.sent),
		failed: Number(row.failed),
		dead: Number(row.dead),
		throughput: Number(row.throughput),
		startedAt: Number(row.started_at),
		seenAt: Number(row.seen_at),
	}))
}
