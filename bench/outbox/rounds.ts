/**
 * Contenders in turns, each telling what it took by its own clock: what comes before and after (filling, tidying) is not measured.
 * The order moves on by one each round, and ratios are taken within a round, so that a machine that is slow for a while is slow for all.
 */
import { median } from '../harness.ts'

export interface Turn {
	readonly name: string
	/** Answers what is measured: a time, or a rate. */
	run(): Promise<number>
}

/** What each contender took, round by round. */
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

/** The median over the rounds of `name` to the greatest of `others` in the same round. */
export function toGreatest(taken: Taken, name: string, others: readonly string[]): number {
	return median(
		(taken.get(name) ?? []).map(
			(value, round) => value / Math.max(...others.map((other) => taken.get(other)?.[round] ?? Number.NaN)),
		),
	)
}

export const perSecond = (rate: number): string => `${Math.round(rate).toLocaleString('en-US')}/s`
