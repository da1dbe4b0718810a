/**
 * Runs contenders in turns; each measures its own time, without setup and cleanup. The order rotates by one each round, and ratios are computed within
 * a round, so that a temporarily slow machine affects all contenders.
 */
import { median } from '../harness.ts'

export interface Turn {
	readonly name: string
	/** Returns the measurement: a time or a rate. */
	run(): Promise<number>
}

/** The measurements of each contender, by round. */
export type Taken = ReadonlyMap<string, readonly number[]>

export async function inTurns(turns: readonly Turn[], rounds: number): Promise<Taken> {
	const taken = new Map(turns.map(({ name }): [string, number[]] => [name, []]))
	for (let round = 0; round < rounds; round++) {
		for (let at = 0; at < turns.length; at++) {
			const turn = turns[(round + at) % turns.length]
			if (turn) taken.get(turn.name)?.push(await turn.run())
		}
	}
	return taken
}

export const middle = (taken: Taken, name: string): number => median(taken.get(name) ?? [])

/** Returns the median over the rounds of `name` relative to the greatest of `others` in the same round. */
export function toGreatest(taken: Taken, name: string, others: readonly string[]): number {
	return median(
		(taken.get(name) ?? []).map(
			(value, round) => value / Math.max(...others.map((other) => taken.get(other)?.[round] ?? Number.NaN)),
		),
	)
}

export const perSecond = (rate: number): string => `${Math.round(rate).toLocaleString('en-US')}/s`
