import { describe, expect, test } from 'vitest'
import { CANDIDATE_AFTER, crashFilterOf, isPoison } from '../../../../src/outbox/store/decisions/poison.ts'

test('blames a message after as many crashes alone as allowed, not counting the crashes among others', () => {
	expect(isPoison(CANDIDATE_AFTER, 1)).toBe(false)
	expect(isPoison(CANDIDATE_AFTER + 1, 1)).toBe(true)
	expect(isPoison(CANDIDATE_AFTER + 4, 5)).toBe(false)
	expect(isPoison(CANDIDATE_AFTER + 5, 5)).toBe(true)
})

describe('crashFilterOf', () => {
	const filterOf = (poisonCandidates: boolean, poisonAfter: number) =>
		crashFilterOf({ owner: 'r1', leaseMs: 1, targets: [], poisonCandidates, poisonAfter })

	test('claims messages with few crashes unless candidates are wanted', () => {
		for (const poisonAfter of [1, 2, Infinity]) expect(filterOf(false, poisonAfter)).toBe('few crashes')
	})

	test('requires a recorded crash only if the crash that the claim discovers is not enough', () => {
		expect(filterOf(true, 1)).toBe('many crashes')
		expect(filterOf(true, 2)).toBe('recorded crashes')
	})
})
