import { expect, test } from 'vitest'
import { countDuplicates, findFaults, type Round } from './findings.ts'
import type { Receipt } from './receiver.ts'
import type { Takeover } from './takeovers.ts'

const [KILLED, RUNNING, OTHER] = [1, 2, 3]

const receipt = (number: number, relay: number, attempt = 1): Receipt => {
	return { id: `m${number}`, key: 'k', number, attempt, relay }
}
const takeover = (number: number, attempt = 1): Takeover => {
	return { id: `m${number}`, attempt, leaseUntil: 300, claimedAt: 300 }
}

const round = (receipts: readonly Receipt[], takeovers: readonly Takeover[] = []): Round => ({
	name: 'r',
	receipts,
	takeovers,
	poison: [],
	killed: new Set([KILLED]),
	left: [],
	enqueued: [1, 2].map((number) => ({ id: `m${number}`, key: 'k', number })),
})

test('reports nothing when every message arrives once and in order', () => {
	expect(findFaults(round([receipt(1, RUNNING), receipt(2, RUNNING)]))).toEqual([])
})

test('reports a message that never arrives, unless it is a dead letter of expired leases', () => {
	const lost = round([receipt(1, RUNNING)])
	expect(findFaults(lost)).toEqual(['round r: m2 was lost'])
	expect(findFaults({ ...lost, poison: ['m2'] })).toEqual([])
})

test('reports a message that stays in the outbox', () => {
	const done = round([receipt(1, RUNNING), receipt(2, RUNNING)])
	expect(findFaults({ ...done, left: ['m2 (due)'] })).toEqual(['round r: m2 (due) is stuck'])
})

test('accepts and counts a duplicate only if the lease of the earlier claim expired', () => {
	const receipts = [receipt(1, KILLED), receipt(1, OTHER, 2), receipt(2, RUNNING), receipt(2, OTHER, 2)]
	const explained = round(receipts, [takeover(1), takeover(2)])
	expect(findFaults(explained)).toEqual([])
	expect(countDuplicates(explained)).toEqual({ afterKill: 1, afterLostLease: 1 })
	expect(findFaults(round(receipts, [takeover(1)]))).toEqual([
		'round r: m2 was sent 2 times without a lost lease: attempt 1 by 2, attempt 2 by 3',
	])
})

test('does not accept a kill as the explanation of a duplicate: the lease has to expire', () => {
	expect(findFaults(round([receipt(1, KILLED), receipt(1, OTHER, 2), receipt(2, OTHER)]))).toHaveLength(1)
})

test('reports two sends of one claim, whether its lease expired or not', () => {
	const receipts = [receipt(1, RUNNING), receipt(1, RUNNING), receipt(2, RUNNING)]
	expect(findFaults(round(receipts, [takeover(1)]))).toHaveLength(1)
})

test('reports a claim that takes a message over before the lease expires', () => {
	const early = { ...takeover(1), claimedAt: 290 }
	expect(findFaults(round([receipt(1, OTHER, 2), receipt(2, OTHER)], [early]))).toEqual([
		'round r: m1 was claimed again 10 ms before the lease of attempt 1 expired',
	])
})

test('reports keys out of order, except for a late duplicate of a claim that lost its lease', () => {
	expect(findFaults(round([receipt(2, RUNNING), receipt(1, RUNNING)]))).toEqual([
		'round r: k was delivered out of order: 2, 1',
	])
	const late = [receipt(1, OTHER, 2), receipt(2, OTHER), receipt(1, RUNNING)]
	expect(findFaults(round(late, [takeover(1)]))).toEqual([])
	const wrongWay = [receipt(1, RUNNING), receipt(2, OTHER), receipt(1, OTHER, 2)]
	expect(findFaults(round(wrongWay, [takeover(1)]))).toHaveLength(1)
})
