import { describe, expect, onTestFinished, test } from 'vitest'
import {
	idempotency,
	memoryIdempotencyStore,
	sqliteIdempotencyStore,
} from '../../../src/idempotency/index.ts'
import { temporaryFile } from '../../support/temporary-file.ts'
import { storeWith } from '../adapters/stores.ts'
import { sharedDatabase } from './shared-database.ts'

describe('one store in memory', () => {
	let store = memoryIdempotencyStore()
	let opened = 0
	sharedDatabase(() => {
		if (opened++ % 2 === 0) store = memoryIdempotencyStore()
		return store
	})
})

describe('one SQLite file', () => {
	let file = ''
	let opened = 0
	sharedDatabase(async () => {
		if (opened++ % 2 === 0) file = temporaryFile()
		const store = sqliteIdempotencyStore(file)
		await store.migrate()
		onTestFinished(() => store.close())
		return store
	})
})

describe('the name of an engine', () => {
	const principal = () => 'ada'
	const ofMemory = (name?: string) => idempotency({ name, store: memoryIdempotencyStore(), principal })

	test('must be given for a store that others can use, with a message that says what to write', () => {
		for (const store of [sqliteIdempotencyStore('app.db'), storeWith({ isShared: true })])
			expect(() => idempotency({ store, principal })).toThrow(
				`Invalid option "name": expected the name of the service, which belongs to all of its keys: name: 'payments', got undefined`,
			)
	})

	test('has a default for a store in memory, and is never empty', () => {
		expect(ofMemory().settings.name).toBe('idempotency')
		expect(ofMemory('shop').settings.name).toBe('shop')
		expect(() => ofMemory('')).toThrow('Invalid option "name"')
	})

	test('is the name in events', async () => {
		const engine = ofMemory('shop')
		const events: unknown[] = []
		engine.subscribe((event) => events.push(event))
		await engine.begin({ principal: 'ada', method: 'POST', route: '/', key: 'k' }, 'f')
		expect(events).toMatchObject([{ type: 'idempotency_claimed', emitter: 'shop' }])
	})
})
