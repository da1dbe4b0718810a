/** Exactly once under concurrency, with the program of test/idempotency/processes: 200 requests with one key on four server processes. */
import { DATABASES } from '../test/idempotency/processes/databases.ts'
import { type RaceTotals, runRaces } from '../test/idempotency/processes/race.ts'
import { HAS_REDIS } from '../test/support/real-redis.ts'
import { column, type Figure, type Report } from './figure.ts'

const ROUNDS = 1_000
/** For a smoke test. The target counts only with all rounds. */
const rounds = Number(process.env['RACE_ROUNDS'] ?? ROUNDS)

const KINDS = ['PostgreSQL', ...(HAS_REDIS ? (['Redis'] as const) : [])] as const

const count = (number: number): string => number.toLocaleString('en-US')

export async function idempotencyRace(): Promise<Report> {
	const results: [kind: string, totals: RaceTotals][] = []
	for (const kind of KINDS) {
		await using database = await DATABASES[kind]()
		results.push([kind, await runRaces(database.address, { rounds, requests: 200, servers: 4 })])
	}
	return {
		title: 'Idempotency: 200 concurrent requests with one key on four server processes',
		lines: results.flatMap(([kind, totals]) => [
			column(
				kind,
				`${count(totals.rounds)} rounds`,
				`${count(totals.responses)} of 201`,
				`${count(totals.conflicts)} of 409`,
			),
			...totals.findings,
		]),
		figures: results.map(figure),
		data: Object.fromEntries(results),
	}
}

const figure = ([kind, { rounds: ran, findings }]: readonly [string, RaceTotals]): Figure => ({
	figure: `idempotency, one run for 200 concurrent requests, ${kind}`,
	asked: `${count(ROUNDS)} rounds`,
	measured: `${count(ran)} rounds, ${findings.length} findings`,
	reached: ran >= ROUNDS && findings.length === 0,
})
