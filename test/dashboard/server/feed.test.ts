/** The stream of events, in virtual time: one read and one text for all viewers, and no queue for any. */
import { expect, test, vi } from 'vitest'
import { virtualRuntime } from 'yaoki/testing'
import type { Problem } from '../../../src/dashboard/contract.ts'
import { circuitWith, fakeDashboard, PAUSE } from './fake-parts.ts'
import { visit, writeOf } from './visit.ts'

const URL = 'https://shop.test/'

function setup() {
	const clock = virtualRuntime({ seed: 1 })
	let access: 'all' | 'read' = 'all'
	const { page, parts } = fakeDashboard({ runtime: clock, authorize: () => access })
	const show = (calls: number) => {
		parts.live = { ...parts.live, circuits: [circuitWith(calls)] }
	}
	const open = async (as: 'all' | 'read' = 'all', signal?: AbortSignal) => {
		access = as
		const response = await page(new Request(`${URL}_yaoki/api/stream`, signal ? { signal } : {}))
		access = 'all'
		return { response, reader: (response.body as ReadableStream<Uint8Array>).getReader() }
	}
	return { clock, page, parts, show, open }
}

type Reader = ReadableStreamDefaultReader<Uint8Array>

const next = async (reader: Reader): Promise<string> => new TextDecoder().decode((await reader.read()).value)
const callsOf = (event: string): number => JSON.parse(event.replace(/^data: /, '')).circuits[0].calls

/** Reads on, and records what comes. */
function reading(reader: Reader): string[] {
	const events: string[] = []
	const read = async (): Promise<void> => {
		for (;;) {
			const { done, value } = await reader.read()
			if (done) return
			events.push(new TextDecoder().decode(value))
		}
	}
	read().then(
		() => events.push('end'),
		() => events.push('error'),
	)
	return events
}

test('sends the state, then each change, at most every second', async () => {
	const { clock, show, open, parts } = setup()
	show(1)
	const events = reading((await open()).reader)
	await clock.advance(0)
	expect(events).toEqual([
		expect.stringMatching(/^retry: [23]\d{3}\n\n$/),
		expect.stringMatching(/^data: \{"at":\d+,"access":"all",.*\}\n\n$/),
	])
	await clock.advance(3_000)
	expect(events).toHaveLength(2)
	for (let calls = 2; calls < 6; calls++) {
		show(calls)
		await clock.advance(250)
	}
	await clock.advance(250)
	expect(events.slice(2).map(callsOf)).toEqual([5])
	expect(parts.overviews).toBeLessThanOrEqual(6)
})

test('says every 15 seconds that the stream works, and ends after 5 minutes so that authorize is asked again', async () => {
	const alive = 'event: alive\ndata: 1\n\n'
	const { clock, open } = setup()
	const events = reading((await open()).reader)
	await clock.advance(14_000)
	expect(events).toHaveLength(2)
	await clock.advance(1_000)
	expect(events.slice(2)).toEqual([alive])
	await clock.advance(300_000)
	expect(events.at(-1)).toBe('end')
	expect(events.filter((event) => event === alive).length).toBeGreaterThanOrEqual(19)
})

test('a viewer that does not read gets the latest state when it does, and nothing in between', async () => {
	const { clock, show, open } = setup()
	show(1)
	const { reader } = await open()
	await next(reader)
	const first = next(reader)
	await clock.advance(0)
	expect(callsOf(await first)).toBe(1)
	for (let calls = 2; calls < 60; calls++) {
		show(calls)
		await clock.advance(1_000)
	}
	expect(callsOf(await next(reader))).toBe(59)
	let isEmpty = true
	void next(reader).then(() => {
		isEmpty = false
	})
	await clock.advance(1_000)
	expect(isEmpty).toBe(true)
	await reader.cancel()
})

test('a viewer that never reads is disconnected after 5 minutes', async () => {
	const { clock, open, parts } = setup()
	const { reader } = await open()
	const closed = reader.closed.catch((error: Error) => error.message)
	await clock.advance(300_000)
	expect(await closed).toBe('The client does not read.')
	const { overviews } = parts
	await clock.advance(60_000)
	expect(parts.overviews).toBe(overviews)
})

test('1,000 viewers share each overview and its text, and the next one gets 503', async () => {
	const { clock, page, parts, open } = setup()
	const toJSON = vi.fn(() => ({ calls: toJSON.mock.calls.length }))
	parts.live = { ...parts.live, circuits: [{ ...circuitWith(1), toJSON } as never] }
	const encode = vi.spyOn(TextEncoder.prototype, 'encode')
	const viewers = await Promise.all(
		Array.from({ length: 1_000 }, (_, index) => open(index % 2 ? 'all' : 'read')),
	)
	const events = viewers.map(({ reader }) => reading(reader))
	await clock.advance(0)
	encode.mockClear()
	await clock.advance(5_000)
	expect(events.map((each) => each.length)).toEqual(Array(1_000).fill(7))
	expect(parts.overviews).toBe(6)
	expect(toJSON).toHaveBeenCalledTimes(6)
	// One text for those who may write, and one for those who may not.
	expect(encode).toHaveBeenCalledTimes(10)
	expect(events[0]?.at(-1)).toContain('"access":"read"')
	expect(events[1]?.at(-1)).toContain('"access":"all"')

	const rejected = await page(new Request(`${URL}_yaoki/api/stream`))
	expect([rejected.status, rejected.headers.get('retry-after')]).toEqual([503, '5'])
	const polled = await page(new Request(`${URL}_yaoki/api/overview`))
	expect(polled.status).toBe(200)
	expect(parts.overviews).toBe(6)

	await viewers[0]?.reader.cancel()
	expect((await open()).response.status).toBe(200)
})

test('stops to read when the last viewer has left', async () => {
	const { clock, parts, open } = setup()
	const controller = new AbortController()
	const [one, other] = [await open('all', controller.signal), await open()]
	await clock.advance(2_000)
	await other.reader.cancel()
	controller.abort()
	await clock.advance(0)
	const { overviews } = parts
	await clock.advance(60_000)
	expect(parts.overviews).toBe(overviews)
	expect(overviews).toBe(3)
	await one.reader.cancel().catch(() => undefined)
})

test('a viewer that has left while authorize was asked takes no stream', async () => {
	const { clock, parts, page } = setup()
	const leaving = new AbortController()
	const response = page(new Request(`${URL}_yaoki/api/stream`, { signal: leaving.signal }))
	leaving.abort()
	await response
	await clock.advance(5_000)
	expect(parts.overviews).toBe(0)
})

test('concurrent requests share one read, and a later one reads again', async () => {
	const { clock, page, parts } = setup()
	const get = async () => (await page(new Request(`${URL}_yaoki/api/overview`))).json()
	const all = await Promise.all([get(), get(), get()])
	expect(new Set(all.map(({ at }) => at)).size).toBe(1)
	expect(parts.overviews).toBe(1)
	await clock.advance(1_000)
	await get()
	expect(parts.overviews).toBe(2)
})

test('an action is visible in the next overview, also if a read was running', async () => {
	const { page, parts, show } = setup()
	const { promise, resolve } = Promise.withResolvers<void>()
	const visited = await visit(URL, (url) => page(new Request(url)))
	const get = async () => (await page(new Request(`${URL}_yaoki/api/overview`))).json()
	show(1)
	parts.before = () => promise
	const before = get()
	parts.before = () => undefined
	await page(new Request(`${URL}_yaoki/api/action`, writeOf(visited, PAUSE)))
	show(2)
	const after = await get()
	resolve()
	await before
	expect(after.circuits[0].calls).toBe(2)
	expect((await get()).circuits[0].calls).toBe(2)
})

test('a read that fails leaves the streams open, and is reported once', async () => {
	const { clock, open, parts, show } = setup()
	const warn = vi.spyOn(console, 'warn').mockReturnValue()
	show(1)
	const events = reading((await open()).reader)
	await clock.advance(0)
	parts.before = () => {
		throw new Error('no database')
	}
	show(2)
	await clock.advance(5_000)
	expect(events).toHaveLength(2)
	parts.before = () => undefined
	await clock.advance(1_000)
	expect(events.slice(2).map(callsOf)).toEqual([2])
	expect(warn).toHaveBeenCalledTimes(1)
})

test('closing the dashboard ends the streams', async () => {
	const { clock, page, open } = setup()
	const events = reading((await open()).reader)
	await clock.advance(0)
	await page.close()
	await clock.advance(0)
	expect(events.at(-1)).toBe('end')
})

test('errors come before warnings, and what lasts longest comes first', async () => {
	const { page, parts } = setup()
	const problem = (severity: Problem['severity'], sinceMs: number | null, error: string): Problem => ({
		kind: 'unreadable',
		severity,
		source: 'orders',
		sinceMs,
		error,
	})
	parts.live = { ...parts.live, problems: [problem('warning', 9, 'e'), problem('error', 5, 'c')] }
	parts.queue = {
		...parts.queue,
		problems: [problem('warning', null, 'd'), problem('error', 7, 'b'), problem('error', null, 'a')],
	}
	const { problems, process: shown } = await (await page(new Request(`${URL}_yaoki/api/overview`))).json()
	expect(problems.map(({ error }: { error: string }) => error)).toEqual(['a', 'b', 'c', 'd', 'e'])
	expect(shown).toMatchObject({ pid: process.pid, startedAt: expect.any(Number) })
})
