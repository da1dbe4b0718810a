/**
 * Memory and timers of ten thousand idle breakers, such as one per host or tenant: never used, and used once. Node's list of
 * active resources omits unreferenced timers, such as opossum's, and an async hook would slow down the parts that follow.
 * So timers are counted where they are started.
 */
import { ConsecutiveBreaker, circuitBreaker as cockatielCircuitBreaker, handleAll } from 'cockatiel'
import Opossum from 'opossum'
import { circuitBreaker } from 'yaoki'
import { bytes, column, type Report } from './figure.ts'
import { nextLoop } from './harness.ts'
import { bytesHeld } from './weigh.ts'

const BREAKERS = 10_000
const work = async () => 1

interface Row {
	readonly name: string
	readonly unused: number
	readonly usedOnce: number
	/** Timers started by creating a breaker and using it once. */
	readonly timers: number
}

async function weigh<T>(
	name: string,
	make: () => T,
	use: (breaker: T) => Promise<unknown>,
	end?: (breaker: T) => void,
): Promise<Row> {
	const makeAndUse = () => {
		const breaker = make()
		void use(breaker)
		return breaker
	}
	return {
		name,
		unused: await bytesHeld(BREAKERS, make, end),
		usedOnce: await bytesHeld(BREAKERS, makeAndUse, end),
		timers: await timersStarted(async () => {
			const breaker = makeAndUse()
			await nextLoop()
			end?.(breaker)
		}),
	}
}

async function timersStarted(run: () => Promise<void>): Promise<number> {
	const { setTimeout, setInterval } = globalThis
	let timers = 0
	const counting =
		<Args extends unknown[], R>(start: (...args: Args) => R) =>
		(...args: Args) => {
			timers++
			return start(...args)
		}
	Object.assign(globalThis, { setTimeout: counting(setTimeout), setInterval: counting(setInterval) })
	try {
		await run()
	} finally {
		Object.assign(globalThis, { setTimeout, setInterval })
	}
	return timers
}

export async function idleBreakers(): Promise<Report> {
	const yaoki = await weigh(
		'yaoki',
		() => circuitBreaker(),
		(breaker) => breaker.execute(work),
	)
	const rows = [
		yaoki,
		await weigh(
			'cockatiel 4',
			() => cockatielCircuitBreaker(handleAll, { breaker: new ConsecutiveBreaker(5), halfOpenAfter: 30_000 }),
			(breaker) => breaker.execute(work),
		),
		await weigh(
			'opossum 10',
			() => new Opossum(work),
			(breaker) => breaker.fire(),
			// Its intervals would run during all parts that follow.
			(breaker) => breaker.shutdown(),
		),
	]
	const figureOf = (figure: string, held: number) => ({
		figure,
		asked: 'at most 600 bytes each',
		measured: bytes(held),
		reached: held <= 600,
	})
	const { unused, usedOnce, timers } = yaoki
	return {
		title: `${BREAKERS.toLocaleString('en-US')} idle breakers: each unused, each used once, timers of each`,
		lines: rows.map((row) =>
			column(row.name, bytes(row.unused), bytes(row.usedOnce), `${row.timers} timers`),
		),
		figures: [
			figureOf('an idle breaker, unused', unused),
			figureOf('an idle breaker, used once', usedOnce),
			{
				figure: 'an idle breaker',
				asked: 'no timer, and so no CPU',
				measured: `${timers} timers`,
				reached: timers === 0,
			},
		],
		data: rows,
	}
}
