import { expect, test } from 'vitest'
import { ClaimLanes } from '../../../src/outbox/relay/claim-lanes.ts'
import type { ClaimTarget } from '../../../src/outbox/store/rows.ts'

const target = (destination: string): ClaimTarget => ({
	destination,
	limit: 1,
	since: 0,
	isOrdered: false,
	isProbe: false,
})

/** Claims that end when the test says so, at a time that it says. */
function controlled() {
	const lanes = new ClaimLanes()
	const ends = new Map<string, () => void>()
	let now = 0
	const claim = (_: unknown, targets: readonly ClaimTarget[]) =>
		new Promise<boolean>((resolve) => {
			ends.set(targets.map(({ destination }) => destination).join(), () => resolve(true))
		})
	let ended = 0
	const onEnd = () => {
		ended++
	}
	const settled = () => new Promise((resolve) => setImmediate(resolve))
	return {
		lanes,
		get ended() {
			return ended
		},
		get running() {
			return [...ends.keys()]
		},
		start: (...names: string[]) => lanes.start(names.map(target), () => now, claim, onEnd),
		startFullScans: (...names: string[]) => lanes.startFullScans(names.map(target), claim, onEnd),
		async end(names: string, tookMs = 0) {
			now += tookMs
			ends.get(names)?.()
			ends.delete(names)
			await settled()
		},
	}
}

test('destinations of a running claim are busy', async () => {
	const c = controlled()
	c.start('a', 'b')
	expect(['a', 'b'].map((name) => c.lanes.isBusy(name))).toEqual([true, true])
	expect(['a', 'c'].map((name) => c.lanes.isClaiming(name))).toEqual([true, false])
	// It would share the lane.
	expect(c.lanes.isBusy('c')).toBe(true)
	await c.end('a,b')
	expect(['a', 'b', 'c'].map((name) => c.lanes.isBusy(name))).toEqual([false, false, false])
})

test('after a slow claim half of its destinations claim beside the others', async () => {
	const c = controlled()
	c.start('a', 'b', 'c')
	await c.end('a,b,c', 1_000)
	c.start('a', 'b', 'c')
	expect(c.running).toEqual(['a,c', 'b'])
	await c.end('b')
	expect([c.lanes.isBusy('b'), c.lanes.isBusy('a')]).toEqual([false, true])
})

test('any number of slow destinations use a fixed number of claims', async () => {
	const c = controlled()
	const names = Array.from({ length: 50 }, (_, at) => `d${at}`)
	for (let round = 0; round < 20; round++) {
		c.start(...names)
		expect(c.running.length).toBeLessThanOrEqual(3)
		for (const running of c.running) await c.end(running, 1_000)
	}
})

test('a claim that is awaited is not announced, one that is not awaited is', async () => {
	const c = controlled()
	c.start('a')
	const next = c.lanes.next()
	await c.end('a')
	expect(await next).toBe(true)
	expect(c.ended).toBe(0)
	c.start('a')
	await c.end('a')
	expect(c.ended).toBe(1)
})

test('full scans run one at a time, beside other claims of their destination, and the next ones wait', async () => {
	const c = controlled()
	c.startFullScans('a')
	c.startFullScans('b')
	expect(c.running).toEqual(['a'])
	expect([c.lanes.isBusy('a'), c.lanes.isClaiming('a'), c.lanes.isClaiming('b')]).toEqual([false, true, true])
	await c.end('a')
	expect([c.ended, c.lanes.isClaiming('a')]).toEqual([1, false])
	c.startFullScans()
	expect(c.running).toEqual(['b'])
	let isOver = false
	const all = c.lanes.all().then(() => {
		isOver = true
	})
	expect(isOver).toBe(false)
	await c.end('b')
	await all
})

test('a failed claim ends its lane', async () => {
	const lanes = new ClaimLanes()
	const fails = () => Promise.reject(new Error('abandoned'))
	lanes.start(
		[target('a')],
		() => 0,
		fails,
		() => {},
	)
	await expect(lanes.next()).rejects.toThrow('abandoned')
	expect(lanes.isBusy('a')).toBe(false)
	lanes.startFullScans([target('a')], fails, () => {})
	await lanes.all()
	expect(lanes.isClaiming('a')).toBe(false)
})
