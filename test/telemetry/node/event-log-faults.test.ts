/** Whatever the disk does: every event that does not count as dropped is in the files exactly once, in order. */
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { seededRandom, virtualRuntime } from 'yaoki/testing'
import { createEventLog } from '../../../src/telemetry/node/event-log.ts'
import { nodeFileSystem } from '../../../src/telemetry/node/rotating-file.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryFolder } from '../../support/temporary-file.ts'
import { attached } from '../source.ts'
import { type Faults, faultyFileSystem } from './faulty-file-system.ts'
import { readFiles, readLines, readNumbers } from './read-log.ts'

const spyOnWarnings = () => vi.spyOn(console, 'warn').mockImplementation(() => {})

describe.each([1, 2, 3, 4, 5, 6, 7, 8])('with random faults, seed %i', (seed) => {
	test('no event is lost, repeated or moved', async () => {
		spyOnWarnings()
		const random = seededRandom(`event log ${seed}`)
		const path = join(temporaryFolder(), 'events.jsonl')
		const faults: Faults = { rate: 0.3 }
		const options = { path, maxBytes: 4_000, maxFiles: 1_000, bufferBytes: 20_000, flushIntervalMs: 0 }
		const log = createEventLog(options, faultyFileSystem(random, faults))
		const { emit } = attached(log)
		for (let number = 0; number < 1_000; number++) {
			emit('call', { number, text: 'x'.repeat(Math.floor(random() * 400)) })
			if (random() < 0.1) await log.flush()
		}
		faults.rate = 0
		await log.close()

		const { written, dropped, failures, buffered } = log.stats
		const numbers = readNumbers(path)
		expect(failures).toBeGreaterThan(10)
		expect([...new Set(numbers)].sort((a, b) => Number(a) - Number(b))).toEqual(numbers)
		expect(numbers).toHaveLength(written)
		expect({ total: written + dropped, buffered }).toEqual({ total: 1_000, buffered: 0 })
		const notes = readLines(path).filter(({ type }) => type === 'telemetry_events_dropped')
		expect(notes.reduce((sum, { count }) => sum + Number(count), 0)).toBe(dropped)
		for (const text of readFiles(path)) expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4_000)
	})
})

test('a rotation that fails again and again deletes no older file', async () => {
	spyOnWarnings()
	const path = join(temporaryFolder(), 'events.jsonl')
	let isBroken = false
	const rename: typeof nodeFileSystem.rename = async (from, to) => {
		if (isBroken && from === path) throw Object.assign(new Error('EPERM: injected'), { code: 'EPERM' })
		await nodeFileSystem.rename(from, to)
	}
	const log = createEventLog({ path, maxBytes: 1_000, maxFiles: 4 }, { ...nodeFileSystem, rename })
	const { emit } = attached(log)
	const text = 'x'.repeat(600)
	for (let number = 0; number < 4; number++) emit('call', { number, text })
	await log.flush()
	expect(readNumbers(path)).toEqual([0, 1, 2, 3])
	isBroken = true
	emit('call', { number: 4, text })
	for (let attempt = 0; attempt < 5; attempt++) await log.flush()
	expect(log.stats).toMatchObject({ failures: 5, buffered: 1 })
	isBroken = false
	await log.close()
	// Only the oldest was deleted, by the one rotation that succeeded.
	expect(readNumbers(path)).toEqual([1, 2, 3, 4])
})

test('a disk that hangs holds back neither events nor close, and what it accepts later is written', async () => {
	spyOnWarnings()
	const { promise: response, resolve: respond } = Promise.withResolvers<void>()
	const open: typeof nodeFileSystem.open = (...args) => response.then(() => nodeFileSystem.open(...args))
	const runtime = virtualRuntime()
	const path = join(temporaryFolder(), 'events.jsonl')
	const log = createEventLog({ path, bufferBytes: 5_000, runtime }, { ...nodeFileSystem, open })
	const { emit } = attached(log)
	for (let number = 0; number < 1_000; number++) emit('call', { number })
	const closed = log.close()
	await runtime.advance(10_000)
	await closed
	const { buffered } = log.stats
	expect(log.stats).toEqual({ written: 0, dropped: 1_000 - buffered, failures: 0, bytes: 0, buffered })
	expect(buffered).toBeGreaterThan(10)
	respond()
	await eventually(() => expect(log.stats).toMatchObject({ written: buffered, buffered: 0 }))
	expect(readNumbers(path)).toEqual(Array.from({ length: buffered }, (_, number) => number))
})
