/**
 * The cost of the queue: a hundred concurrent callers share ten slots, repeatedly. p-limit, p-queue and cockatiel only limit
 * concurrency: a queued call has no timeout and cannot be aborted.
 */
import { bulkhead as cockatielBulkhead } from 'cockatiel'
import pLimit from 'p-limit'
import PQueue from 'p-queue'
import { bulkhead as yaokiBulkhead } from 'yaoki'
import { column, type Report, times } from './figure.ts'
import { type Contender, line, race, ratioOf } from './harness.ts'
import { mollitiaBulkhead, underMollitia } from './mollitia.ts'

const CALLERS = 100
const SLOTS = 10

type Work = () => Promise<number>
type Limit = (work: Work) => Promise<unknown>

const work: Work = async () => 1

const together = (limit: Limit, fn: Work): Promise<unknown[]> =>
	Promise.all(Array.from({ length: CALLERS }, () => limit(fn)))

/** `count` counts calls, so that the reported cost is that of one call. */
const crowd = (name: string, limit: Limit): Contender => ({
	name,
	async run(count) {
		for (let i = 0; i < count; i += CALLERS) await together(limit, work)
	},
})

/** The maximum concurrency: a contender that admits more calls than there are slots has less to do. */
async function mostAtOnce(limit: Limit): Promise<number> {
	let [active, most] = [0, 0]
	await together(limit, async () => {
		most = Math.max(most, ++active)
		for (let turn = 0; turn < 5; turn++) await null
		return active--
	})
	return most
}

export async function bulkhead(): Promise<Report> {
	const yaoki = yaokiBulkhead({ maxConcurrent: SLOTS, maxQueue: CALLERS })
	const cockatiel = cockatielBulkhead(SLOTS, CALLERS)
	const queue = new PQueue({ concurrency: SLOTS })
	const limits: Record<string, Limit> = {
		'without a limit': (fn) => fn(),
		yaoki: (fn) => yaoki.execute(fn),
		'cockatiel 4': (fn) => cockatiel.execute(fn),
		'p-limit 7': pLimit(SLOTS),
		'p-queue 10': (fn) => queue.add(fn),
		'mollitia 0.1': underMollitia(mollitiaBulkhead(SLOTS, CALLERS)),
	}
	const rows = await race(
		Object.entries(limits).map(([name, limit]) => crowd(name, limit)),
		{ rounds: 25, count: 20_000 },
	)
	const most: Record<string, number> = {}
	for (const [name, limit] of Object.entries(limits)) most[name] = await mostAtOnce(limit)
	const [ours, peer] = [ratioOf(rows, 'yaoki'), ratioOf(rows, 'cockatiel 4')]
	return {
		title: `${CALLERS} concurrent callers through ${SLOTS} slots, cost of a call`,
		lines: [
			...rows.map(line),
			'maximum concurrency:',
			...Object.entries(most).map(([name, count]) => column(name, String(count))),
		],
		figures: [
			{
				figure: 'a bulkhead under contention',
				asked: `at most cockatiel 4 (${times(peer)})`,
				measured: times(ours),
				reached: ours <= peer,
			},
		],
		data: { rows, most },
	}
}
