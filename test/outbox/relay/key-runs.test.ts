import { expect, test } from 'vitest'
import { KeyRuns } from '../../../src/outbox/relay/key-runs.ts'

interface Message {
	readonly row: { readonly key: string | null }
	readonly name: string
	isSettled: boolean
	isFollower: boolean
	follower: Message | undefined
}

const message = (name: string, key: string | null = 'k'): Message => ({
	row: { key },
	name,
	isSettled: false,
	isFollower: false,
	follower: undefined,
})

const names = (messages: readonly Message[]) => messages.map(({ name }) => name)

test('keeps all but the first message of each key, and returns them one after the other', () => {
	const runs = new KeyRuns<Message>()
	const [a1, a2, a3, b1, free] = [
		...[message('a1', 'a'), message('a2', 'a'), message('a3', 'a')],
		...[message('b1', 'b'), message('free', null)],
	] as const
	expect(names(runs.split([a1, b1, a2, free, a3], []))).toEqual(['a1', 'b1', 'free'])
	expect([runs.size, a2.isFollower, runs.keys]).toEqual([2, true, ['a']])
	runs.recordFollower(a1)
	expect(runs.next(a1)?.name).toBe('a2')
	runs.recordFollower(a2)
	expect(runs.next(a2)?.name).toBe('a3')
	runs.recordFollower(a3)
	expect([runs.next(a3), runs.size]).toEqual([undefined, 0])
})

test('a message does not continue a later run of its key (regression: a second message was sent before the first)', () => {
	// The outcome of `one` is written late. Meanwhile its run is released because its lease expired, and claimed again.
	const runs = new KeyRuns<Message>()
	const one = message('1')
	runs.split([one, message('2'), message('3')], [])
	runs.recordFollower(one)
	expect(names(runs.take('k'))).toEqual(['3', '2'])
	const again = message('2 again')
	expect(names(runs.split([again, message('3 again')], []))).toEqual(['2 again'])
	expect(runs.next(one)).toBeUndefined()
	expect(one.follower).toBeUndefined()
	runs.recordFollower(again)
	expect(runs.next(again)?.name).toBe('3 again')
})

test('a message whose predecessor is in flight waits for it, also if it is claimed alone (regression: it was sent first)', () => {
	// The lease of `one` expired, and this relay claimed it again together with `two`. The delivery of `one` continues, so only `two` is new.
	const runs = new KeyRuns<Message>()
	const [one, two] = [message('1'), message('2')]
	expect(runs.split([two], [one])).toEqual([])
	runs.recordFollower(one)
	expect(runs.next(one)).toBe(two)
})

test('a claim replaces what waits for an earlier claim of its key, which has lost its lease', () => {
	const runs = new KeyRuns<Message>()
	const [one, two] = [message('1'), message('2')]
	runs.split([one, two], [])
	expect(runs.split([message('2 again'), message('3')], [one])).toEqual([])
	expect([two.isSettled, runs.size]).toEqual([true, 2])
	runs.recordFollower(one)
	const again = runs.next(one)
	if (!again) throw new Error('no message')
	runs.recordFollower(again)
	expect([again.name, runs.next(again)?.name]).toEqual(['2 again', '3'])
	const other = message('other', 'l')
	expect(runs.split([other], [])).toEqual([other])
})
