import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { IdempotencyEvent } from '../../../src/idempotency/engine/events.ts'
import { memoryIdempotencyStore, type StoredKey } from '../../../src/idempotency/index.ts'
import { identityHash } from '../../../src/idempotency/key/identity.ts'
import { recordingStore } from '../adapters/stores.ts'
import { openSqlite } from '../store/open-sqlite.ts'
import { IDENTITY, SECRETS, secretsIn, storesNoSecret } from './secret-request.ts'

describe('the search finds a secret', () => {
	const samples: Readonly<Record<string, string>> = {
		plain: `[["a","${SECRETS.key}"]]`,
		'in UTF-16': Buffer.from(SECRETS.key, 'utf16le').toString(),
		'in hexadecimal digits': Buffer.from(`"${SECRETS.key}"`).toString('hex'),
		'in capital hexadecimal digits': Buffer.from(SECRETS.key).toString('hex').toUpperCase(),
		'in base64': Buffer.from(`${SECRETS.key}, more`).toString('base64'),
		'in base64, one byte later': Buffer.from(`"${SECRETS.key}"`).toString('base64'),
		'in base64, two bytes later': Buffer.from(`["${SECRETS.key}"]`).toString('base64url'),
	}
	test.each(Object.entries(samples))('%s', (_, sample) => {
		expect(secretsIn(Buffer.from(sample)).join()).toMatch(/^key in /)
		expect(secretsIn(Buffer.from(sample.slice(0, sample.length / 2)))).toEqual([])
	})
})

describe('nothing of a request, no cookie and no other header is stored', () => {
	/** What a store of the user gets. The engine's claims know the principal and the key. */
	test('no call of a store contains it (regression: writes passed the principal and the key)', async () => {
		const { store, calls } = recordingStore()
		await storesNoSecret(store, () => bytesOf(calls))
		expect(new Set(calls.map(({ method }) => method))).toEqual(
			new Set(['claim', 'saveStep', 'release', 'complete']),
		)
	})

	test('the store in memory does not contain it, as find shows', async () => {
		const base = memoryIdempotencyStore()
		const { store, calls } = recordingStore(base)
		const id = await identityHash('payments', IDENTITY)
		const found: (StoredKey | undefined)[] = []
		await storesNoSecret(store, async () => {
			found.push(await base.find(id))
			// find shows no id, no result of a step and no response.
			return bytesOf([found, calls])
		})
		const states = found.map((key) => key?.state)
		expect(states).toEqual(['running', 'running', 'released', 'completed', 'completed'])
	})

	test('the files of SQLite do not contain it', async () => {
		const { store, file } = await openSqlite()
		onTestFinished(() => store.close())
		const names = new Set<string>()
		await storesNoSecret(store, () => {
			const found = readdirSync(dirname(file))
			for (const name of found) names.add(name)
			return Buffer.concat(found.map((name) => readFileSync(join(dirname(file), name))))
		})
		const name = basename(file)
		expect(names).toEqual(new Set([name, `${name}-shm`, `${name}-wal`]))
	})

	test('or emitted in events, except for the path', async () => {
		const { store, calls } = recordingStore()
		const events = (await storesNoSecret(store, () => bytesOf(calls))) as IdempotencyEvent[]
		expect(events.map(({ type }) => type)).toEqual([
			'idempotency_claimed',
			'idempotency_claimed',
			'idempotency_replayed',
			'idempotency_mismatch',
		])
		expect(secretsIn(bytesOf(events))).toEqual(['path in UTF-8'])
	})
})

/** All fields of a value, with the texts of its bytes. */
const bytesOf = (value: unknown): Buffer =>
	Buffer.from(
		JSON.stringify(value, (_, part) => (part instanceof Uint8Array ? Buffer.from(part).toString() : part)),
	)
