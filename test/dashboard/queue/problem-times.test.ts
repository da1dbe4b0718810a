import { expect, test } from 'vitest'
import { ProblemTimes } from '../../../src/dashboard/queue/problem-times.ts'

/** Reads at the given seconds, and returns since when the problem is there. */
function readAt(times: ProblemTimes, seconds: number, ...keys: string[]): (number | null)[] {
	times.begin(seconds * 1_000)
	const found = keys.map((key) => times.since(key))
	times.end()
	return found
}

test('counts from the first read that has a problem, and not before the process looked', () => {
	const times = new ProblemTimes()
	expect(readAt(times, 0, 'old')).toEqual([null])
	expect(readAt(times, 2, 'old', 'new')).toEqual([null, 0])
	expect(readAt(times, 4, 'old', 'new')).toEqual([null, 2_000])
	readAt(times, 6)
	expect(readAt(times, 8, 'old', 'new')).toEqual([0, 0])
})

test('does not know since when, after a time in which no viewer looked', () => {
	const times = new ProblemTimes()
	readAt(times, 0)
	readAt(times, 2, 'before')
	// The first may have ended and begun again, and the second may have begun at any time.
	expect(readAt(times, 3_600, 'before', 'meanwhile')).toEqual([null, null])
	expect(readAt(times, 3_602, 'before', 'meanwhile', 'new')).toEqual([null, null, 0])
})
