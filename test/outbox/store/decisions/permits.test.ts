import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fairShare, grantPermits } from '../../../../src/outbox/store/decisions/permits.ts'

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

describe('fairShare', () => {
	const shares = (wanted: readonly number[], total: number): number[] => {
		const requests = wanted.map((each, at) => ({ owner: `r${at}`, wanted: each }))
		return requests.map(({ owner }) => fairShare(requests, owner, total))
	}

	test.each([
		[[10, 10, 10], 10, [4, 3, 3]],
		[[10, 10, 10], 11, [4, 4, 3]],
		[[2, 10], 10, [2, 8]],
		[[10, 2, 4], 10, [4, 2, 4]],
		[[4, 4, 4, 4, 4], 2, [1, 1, 0, 0, 0]],
		[[0, 10], 10, [0, 10]],
		[[3, 3], 10, [3, 3]],
	])('divides %j of %i into %j', (wanted, total, expected) => {
		expect(shares(wanted, total)).toEqual(expected)
	})

	test('uses all permits that are wanted, gives no relay more than it wants, and differs by at most one among the others', () => {
		fc.assert(
			fc.property(fc.array(fc.nat(50), { minLength: 1, maxLength: 8 }), fc.nat(100), (wanted, total) => {
				const parts = shares(wanted, total)
				expect(sum(parts)).toBe(Math.min(total, sum(wanted)))
				const unsatisfied = parts.filter((part, at) => part < (wanted[at] ?? 0))
				for (const [at, part] of parts.entries()) {
					expect(part).toBeLessThanOrEqual(wanted[at] ?? 0)
					for (const other of unsatisfied) expect(part).toBeLessThanOrEqual(other + 1)
				}
			}),
		)
	})

	test('grantPermits leaves permits of other relays alone and records those still in use', () => {
		const request = { destination: 'a', owner: 'r1', wanted: 10, inUse: 7, total: 10, leaseMs: 1 }
		const other = { owner: 'r2', wanted: 10, permits: 3 }
		expect(grantPermits(request, [other])).toEqual({ granted: 5, recorded: 7 })
		expect(grantPermits({ ...request, total: 2 }, [other])).toEqual({ granted: 0, recorded: 7 })
	})
})
