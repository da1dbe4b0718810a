import { expect, test, vi } from 'vitest'
import { untilAbort } from '../../../src/http/request/attempt-hooks.ts'

test('does not call the function if the signal is aborted already', async () => {
	const run = vi.fn(() => new Promise(() => {}))
	await expect(untilAbort(AbortSignal.abort('too late'), run)).rejects.toBe('too late')
	expect(run).not.toHaveBeenCalled()
})

test('rejects on an abort although the function does not end, and removes its listener', async () => {
	const controller = new AbortController()
	const removed = vi.spyOn(controller.signal, 'removeEventListener')
	const result = untilAbort(controller.signal, () => new Promise(() => {}))
	controller.abort('enough')
	await expect(result).rejects.toBe('enough')
	expect(removed).toHaveBeenCalledOnce()
})

test('returns the result, or rejects with the error of the function', async () => {
	const { signal } = new AbortController()
	expect(await untilAbort(signal, async () => 7)).toBe(7)
	await expect(untilAbort(signal, () => Promise.reject(new Error('own')))).rejects.toThrow('own')
})
