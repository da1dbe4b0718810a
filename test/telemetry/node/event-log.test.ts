/** What an event log writes, to which files, and what it does if that fails. */
import { execFile } from 'node:child_process'
import {
	appendFileSync,
	chmodSync,
	existsSync,
	mkdirSync,
	readFileSync,
	renameSync,
	rmSync,
	truncateSync,
	writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test, vi } from 'vitest'
import { eventLog } from 'yaoki/telemetry/node'
import { virtualRuntime } from 'yaoki/testing'
import { page } from '../../examples/markdown.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryFolder } from '../../support/temporary-file.ts'
import { attached, sourceOf } from '../source.ts'
import { readFiles, readLines, readNumbers } from './read-log.ts'

const temporaryLog = () => join(temporaryFolder(), 'events.jsonl')

function started(options: Omit<Parameters<typeof eventLog>[0], 'path'> & { readonly path?: string } = {}) {
	const path = options.path ?? temporaryLog()
	const log = eventLog({ ...options, path })
	const { emit, detach, observer } = attached(log)
	return {
		path,
		log,
		detach,
		observer,
		emit: (number: number, facts: object = {}) => emit('call', { number, ...facts }),
	}
}

const spyOnWarnings = () => vi.spyOn(console, 'warn').mockImplementation(() => {})

describe('an event log', () => {
	test('writes each event with its service as one JSON line', async () => {
		const { emit, log, path, observer } = started()
		expect(observer.level).toBe('all')
		emit(1, { key: 'a\nb' })
		emit(2)
		await log.flush()
		expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(3)
		expect(readLines(path)).toEqual([
			{
				service: 'payments',
				type: 'call',
				emitter: 'retry',
				timestamp: 1767225600000,
				number: 1,
				key: 'a\nb',
			},
			{ service: 'payments', type: 'call', emitter: 'retry', timestamp: 1767225600000, number: 2 },
		])
		expect(log.stats).toEqual({
			written: 2,
			dropped: 0,
			failures: 0,
			bytes: readFileSync(path).length,
			buffered: 0,
		})
		await log.close()
	})

	test('writes without a flush, after the interval', async () => {
		const runtime = virtualRuntime()
		const { emit, log, path } = started({ runtime })
		emit(1)
		await runtime.advance(99)
		expect(existsSync(path)).toBe(false)
		await runtime.advance(1)
		await eventually(() => expect(log.stats.written).toBe(1))
		expect(runtime.pendingTimers).toBe(0)
		await log.close()
	})

	test('keeps the order of events that arrive while others are written', async () => {
		const { emit, log, path } = started()
		const numbers = Array.from({ length: 5_000 }, (_, number) => number)
		for (const number of numbers) {
			emit(number)
			if (number % 500 === 0) await Promise.race([log.flush(), new Promise(setImmediate)])
		}
		await log.close()
		expect(readNumbers(path)).toEqual(numbers)
	})

	test('appends to the file of an earlier run', async () => {
		const first = started()
		first.emit(1)
		await first.log.close()
		const second = started({ path: first.path })
		second.emit(2)
		await second.log.close()
		expect(readNumbers(first.path)).toEqual([1, 2])
	})

	test('ends a line that a crash has left incomplete', async () => {
		const path = temporaryLog()
		writeFileSync(path, '{"number":0}\n{"number":')
		const { emit, log } = started({ path })
		emit(1)
		await log.close()
		expect(readNumbers(path)).toEqual([0, 1])
	})

	test('writes when the observation ends', async () => {
		const { emit, log, detach, path } = started({ flushIntervalMs: 1e6 })
		emit(1)
		detach()
		await eventually(() => expect(log.stats.written).toBe(1))
		expect(readNumbers(path)).toEqual([1])
		await log.close()
	})

	test('counts events after close as dropped', async () => {
		const { emit, log } = started()
		await log.close()
		emit(1)
		await log.flush()
		await log.close()
		expect(log.stats).toMatchObject({ written: 0, dropped: 1 })
	})

	test('drops and reports an event that is not JSON, and one that is larger than a file', async () => {
		const warn = spyOnWarnings()
		const { emit, log, path } = started({ maxBytes: 1_000 })
		emit(1, { size: 1n })
		emit(2, { text: 'x'.repeat(2_000) })
		emit(3)
		await log.close()
		const lines = readLines(path)
		expect(lines).toMatchObject([{ type: 'telemetry_events_dropped', count: 2 }, { number: 3 }])
		expect(warn).toHaveBeenCalledTimes(2)

		const [documented = ''] =
			/\{"type":"telemetry_events_dropped"[^}]*\}/.exec(page('docs/guide/event-log.md').text) ?? []
		expect(lines[0]).toEqual({ ...JSON.parse(documented), timestamp: expect.any(Number), count: 2 })
	})

	test('an event log does not keep a process alive, and writes the events of one that ends', async () => {
		const path = temporaryLog()
		const program = `
			import { eventLog } from '${new URL('../../../src/telemetry/node/index.ts', import.meta.url).pathname}'
			const log = eventLog({ path: '${path}' })
			log.attach({ serviceOf: () => 'a' }).onEvent({ type: 'call', emitter: 'p', timestamp: 1, number: 1 })
		`
		const args = ['--experimental-strip-types', '--input-type=module', '--eval', program]
		await promisify(execFile)(process.execPath, args)
		expect(readNumbers(path)).toEqual([1])
	})
})

describe('files', () => {
	const sized = { text: 'x'.repeat(200) }

	test('files are rotated by size, and the oldest is deleted', async () => {
		const { emit, log, path } = started({ maxBytes: 1_000, maxFiles: 3 })
		for (let number = 0; number < 50; number++) emit(number, sized)
		await log.close()
		const files = readFiles(path)
		expect(files).toHaveLength(3)
		for (const text of files) expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1_000)
		const numbers = readNumbers(path)
		expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, index) => 50 - numbers.length + index))
		expect(log.stats).toMatchObject({ written: 50, dropped: 0 })
	})

	test('files with maxFiles 1 are replaced', async () => {
		const { emit, log, path } = started({ maxBytes: 1_000, maxFiles: 1 })
		for (let number = 0; number < 50; number++) emit(number, sized)
		await log.close()
		expect(readFiles(path)).toHaveLength(1)
		expect(readNumbers(path).at(-1)).toBe(49)
		expect(log.stats).toMatchObject({ written: 50, dropped: 0 })
	})

	test('files that are renamed or deleted by others are created again', async () => {
		const { emit, log, path } = started()
		emit(1)
		await log.flush()
		renameSync(path, `${path}.old`)
		emit(2)
		await log.flush()
		expect(readNumbers(`${path}.old`)).toEqual([1])
		expect(readNumbers(path)).toEqual([2])
		rmSync(path)
		emit(3)
		await log.close()
		expect(readNumbers(path)).toEqual([3])
		expect(log.stats).toMatchObject({ written: 3, dropped: 0, failures: 0 })
	})

	test('files that are truncated by others continue at their new end', async () => {
		const { emit, log, path } = started()
		emit(1)
		await log.flush()
		truncateSync(path)
		emit(2)
		await log.close()
		expect(readNumbers(path)).toEqual([2])
		expect(readFileSync(path, 'utf8')).not.toContain('\0')
	})

	test('files that others append to are continued', async () => {
		const { emit, log, path } = started()
		emit(1)
		await log.flush()
		appendFileSync(path, '{"number":2}\n')
		emit(3)
		await log.close()
		expect(readNumbers(path)).toEqual([1, 2, 3])
	})
})

describe('a file that cannot be written', () => {
	test.runIf(existsSync('/dev/full'))(
		'because the disk is full is reported once, and memory stays bounded',
		async () => {
			const warn = spyOnWarnings()
			const { emit, log } = started({ path: '/dev/full', bufferBytes: 10_000 })
			for (let round = 0; round < 5; round++) {
				for (let number = 0; number < 100; number++) emit(number, { text: 'x'.repeat(100) })
				await log.flush()
			}
			const { buffered, dropped, failures, written } = log.stats
			expect({ written, failures, total: buffered + dropped }).toEqual({
				written: 0,
				failures: 5,
				total: 500,
			})
			expect(buffered).toBeLessThan(60)
			expect(warn.mock.calls.map(([text]) => text)).toEqual([
				expect.stringContaining('the buffer of /dev/full is full'),
				'yaoki: telemetry (eventLog): cannot write /dev/full, trying again:',
			])
			await log.close()
			expect(log.stats).toMatchObject({ dropped: 500, buffered: 0 })
		},
	)

	test('because the folder is missing is written when that exists', async () => {
		const warn = spyOnWarnings()
		const runtime = virtualRuntime()
		const folder = join(temporaryFolder(), 'later')
		const path = join(folder, 'events.jsonl')
		const { emit, log } = started({ path, runtime })
		emit(1)
		await log.flush()
		emit(2)
		await runtime.advance(1_000)
		await eventually(() => expect(log.stats.failures).toBe(2))
		expect(warn).toHaveBeenCalledTimes(1)
		mkdirSync(folder)
		await eventually(() => expect(runtime.pendingTimers).toBe(1))
		await runtime.advance(1_000)
		await eventually(() => expect(log.stats.written).toBe(2))
		expect(readNumbers(path)).toEqual([1, 2])
		await log.close()
	})

	test('because it is a folder is reported once', async () => {
		const warn = spyOnWarnings()
		const { emit, log } = started({ path: temporaryFolder() })
		emit(1)
		await log.flush()
		await log.close()
		expect(warn).toHaveBeenCalledTimes(1)
		expect(log.stats).toMatchObject({ written: 0, dropped: 1 })
	})

	test.skipIf(process.getuid?.() === 0)('because of missing permission is reported once', async () => {
		const warn = spyOnWarnings()
		const folder = temporaryFolder()
		chmodSync(folder, 0o500)
		const { emit, log } = started({ path: join(folder, 'events.jsonl') })
		emit(1)
		await log.flush()
		expect(warn.mock.calls).toEqual([[expect.any(String), expect.objectContaining({ code: 'EACCES' })]])
		await log.close()
	})

	test('keeps the process waiting for nothing: only the retry timer is left', async () => {
		spyOnWarnings()
		const kinds: (string | undefined)[] = []
		const runtime = virtualRuntime()
		const setTimer = runtime.setTimer.bind(runtime)
		runtime.setTimer = (ms, fn, kind) => {
			if (ms === 1_000) kinds.push(kind)
			return setTimer(ms, fn)
		}
		const { emit, log } = started({ path: join(temporaryFolder(), 'missing', 'file'), runtime })
		emit(1)
		await log.flush()
		expect(kinds).toEqual(['housekeeping'])
		await log.close()
	})
})

test.each([
	[{}, 'path'],
	[{ path: '' }, 'path'],
	[{ path: 7 }, 'path'],
	[{ path: 'a', maxBytes: 10 }, 'maxBytes'],
	[{ path: 'a', maxFiles: 0 }, 'maxFiles'],
	[{ path: 'a', bufferBytes: 1.5e3 + 0.5 }, 'bufferBytes'],
	[{ path: 'a', flushIntervalMs: -1 }, 'flushIntervalMs'],
	[{ path: 'a', runtime: {} }, 'runtime'],
	[{ path: 'a', file: 'b' }, 'file'],
])('options %j are rejected', (options, optionPath) => {
	expect(() => eventLog(options as { path: string })).toThrow(expect.objectContaining({ optionPath }))
})

test('the service of each event is that of its source', async () => {
	const path = temporaryLog()
	const log = eventLog({ path })
	for (const name of ['users', 'orders']) attached(log, sourceOf({ name })).emit('call')
	await log.close()
	expect(readLines(path).map(({ service }) => service)).toEqual(['users', 'orders'])
})
