/**
 * Machines are noisy, so only ratios between interleaved contenders are meaningful. Every round runs each contender once,
 * and each round starts with the next contender. The results are the medians of the ratios and of the differences to the first
 * contender, computed per round.
 */
import { column, times } from './figure.ts'

export interface Contender {
	readonly name: string
	/** Runs the workload `count` times. */
	run(count: number): Promise<void>
}

/** A contender whose calls may fail: every caller catches the error and passes it on. */
export const catching = (
	name: string,
	call: () => Promise<unknown>,
	onError: (error: unknown) => void,
): Contender => ({
	name,
	async run(count) {
		for (let i = 0; i < count; i++) {
			try {
				await call()
			} catch (error) {
				onError(error)
			}
		}
	},
})

export interface Row {
	readonly name: string
	readonly nanoseconds: number
	/** Times the first contender. */
	readonly ratio: number
	/** Nanoseconds more than the first contender. */
	readonly moreNanoseconds: number
}

export interface Rounds {
	readonly rounds: number
	readonly count: number
}

export async function race(contenders: readonly Contender[], { rounds, count }: Rounds): Promise<Row[]> {
	const taken = contenders.map(() => new Array<number>(rounds).fill(0))
	for (const contender of contenders) await contender.run(count)
	for (let round = 0; round < rounds; round++) {
		for (let turn = 0; turn < contenders.length; turn++) {
			const index = (round + turn) % contenders.length
			await nextLoop()
			const startedAt = process.hrtime.bigint()
			await contenders[index]?.run(count)
			const row = taken[index]
			if (row) row[round] = Number(process.hrtime.bigint() - startedAt) / count
		}
	}
	const [reference = []] = taken
	return contenders.map(({ name }, i) => {
		const own = taken[i] ?? []
		return {
			name,
			nanoseconds: median(own),
			ratio: median(own.map((time, round) => time / (reference[round] ?? 1))),
			moreNanoseconds: median(own.map((time, round) => time - (reference[round] ?? 0))),
		}
	})
}

/**
 * Waits for one turn of the event loop. It runs between two measurements, because timers never fire while only promises
 * run, and a contender that cleans up in a timer would accumulate garbage. There is no forced garbage collection: it
 * shrinks the young generation to its minimum, which no busy process has.
 */
export const nextLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

export const ratioOf = (rows: readonly Row[], name: string): number =>
	rows.find((row) => row.name === name)?.ratio ?? Number.NaN

export const line = ({ name, nanoseconds, ratio }: Row): string =>
	column(name, `${nanoseconds.toFixed(0)} ns`, times(ratio))

export function median(values: readonly number[]): number {
	const sorted = [...values].sort((a, b) => a - b)
	return sorted[sorted.length >> 1] ?? Number.NaN
}

/** A contender that awaits one call after the other. */
export const calling = (name: string, call: () => Promise<unknown>): Contender => ({
	name,
	async run(count) {
		for (let i = 0; i < count; i++) await call()
	},
})
