import fc from 'fast-check'
import { expect, it } from 'vitest'
import { RingQueue } from '../../../src/sim/model/request-queue.ts'

it('behaves like an array', () => {
	const commands = fc.array(fc.constantFrom('push', 'push', 'push', 'shift', 'pop'), { maxLength: 300 })
	fc.assert(
		fc.property(commands, (all) => {
			const line = new RingQueue<number>()
			const list: number[] = []
			for (const [number, command] of all.entries()) {
				if (command === 'push') {
					line.push(number)
					list.push(number)
				} else expect(line[command]()).toBe(list[command]())
				expect(line.length).toBe(list.length)
			}
			while (list.length > 0) expect(line.shift()).toBe(list.shift())
			expect([line.shift(), line.pop(), line.length]).toEqual([undefined, undefined, 0])
		}),
	)
})

it('does not keep removed items alive', async () => {
	const line = new RingQueue<object>()
	const refs = Array.from({ length: 40 }, (_, index) => {
		const item = { index }
		line.push(item)
		return new WeakRef(item)
	})
	for (let index = 0; index < 20; index++) {
		line.shift()
		line.pop()
	}
	// A WeakRef is cleared at the earliest when the current job is over.
	await new Promise((resolve) => setImmediate(resolve))
	globalThis.gc?.()
	expect(refs.filter((ref) => ref.deref() !== undefined)).toEqual([])
	expect(line.length).toBe(0)
})
