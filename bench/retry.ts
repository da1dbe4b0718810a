/** A retry around an operation that succeeds, and around one that fails twice, compared with the peers and a handwritten loop. */
import { retry as cockatielRetry, ExponentialBackoff, handleAll } from 'cockatiel'
import pRetry from 'p-retry'
import { retry } from 'yaoki'
import { byHand } from './by-hand.ts'
import { type Figure, type Report, times } from './figure.ts'
import { type Contender, calling, line, type Row, race, ratioOf } from './harness.ts'
import { mollitiaRetry, underMollitia } from './mollitia.ts'

const yaoki = retry({ maxRetries: 3 })
const cockatiel = cockatielRetry(handleAll, { maxAttempts: 3, backoff: new ExponentialBackoff() })

const mollitia = underMollitia(mollitiaRetry())

const around = (work: () => () => Promise<number>): Contender[] => [
	calling('by hand', () => byHand(work())),
	calling('yaoki', () => yaoki.execute(work())),
	calling('cockatiel 4', () => cockatiel.execute(work())),
	calling('p-retry 9', () => pRetry(work(), { retries: 3 })),
	calling('mollitia 0.1', () => mollitia(work())),
]

const peersOf = (rows: readonly Row[]): number =>
	Math.min(ratioOf(rows, 'cockatiel 4'), ratioOf(rows, 'p-retry 9'))

export async function success(): Promise<Report> {
	const work = async () => 1
	const rows = await race(
		[
			calling('bare await', work),
			...around(() => work),
			calling('yaoki, with call options', () => yaoki.execute(work, { name: 'load' })),
		],
		{ rounds: 25, count: 100_000 },
	)
	const ours = ratioOf(rows, 'yaoki')
	const peers = peersOf(rows)
	const figures: Figure[] = [
		{
			figure: 'retry around a success',
			asked: 'at most 3.00 x a bare await',
			measured: times(ours),
			reached: ours <= 3,
		},
		{
			figure: 'retry around a success',
			asked: `below both peers (${times(peers)})`,
			measured: times(ours),
			reached: ours < peers,
		},
	]
	return {
		title: 'A retry around an async function that succeeds',
		lines: rows.map(line),
		figures,
		data: rows,
	}
}

/** Replaces timers by microtasks for all contenders, so that the cost of retrying is measured without the waits. */
async function withMicrotaskTimers<T>(run: () => Promise<T>): Promise<T> {
	const { setTimeout: real } = globalThis
	const soon = (fn: (...args: unknown[]) => void, _ms?: number, ...args: unknown[]) => {
		queueMicrotask(() => fn(...args))
		return 0
	}
	Object.assign(globalThis, { setTimeout: soon })
	try {
		return await run()
	} finally {
		Object.assign(globalThis, { setTimeout: real })
	}
}

export async function failsTwice(): Promise<Report> {
	const flaky = (makeError: () => Error) => () => {
		let calls = 0
		return async () => {
			if (calls++ < 2) throw makeError()
			return 1
		}
	}
	const fresh = await withMicrotaskTimers(() =>
		race(around(flaky(() => new Error('boom'))), { rounds: 25, count: 5_000 }),
	)
	const reused = new Error('boom')
	const cheap = await withMicrotaskTimers(() =>
		race(around(flaky(() => reused)), { rounds: 25, count: 20_000 }),
	)
	const ours = ratioOf(fresh, 'yaoki')
	const peers = peersOf(fresh)
	return {
		title: 'Fails twice, then succeeds; timers are microtasks',
		lines: [
			'each failure a new Error, as real work throws:',
			...fresh.map(line),
			'one Error thrown again and again (nothing but the retrying):',
			...cheap.map(line),
		],
		figures: [
			{
				figure: 'two failures, new errors',
				asked: `at most the best peer (${times(Math.min(1, peers))})`,
				measured: times(ours),
				reached: ours <= Math.min(1, peers),
			},
			{
				figure: 'two failures, one error reused',
				asked: `at most both peers (${times(peersOf(cheap))})`,
				measured: times(ratioOf(cheap, 'yaoki')),
				reached: ratioOf(cheap, 'yaoki') <= peersOf(cheap),
			},
		],
		data: { fresh, reused: cheap },
	}
}
