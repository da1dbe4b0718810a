import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { purge } from '../../../src/cli/idempotency/key-commands.ts'
import type { CommandIo } from '../../../src/cli/io.ts'
import { systemRuntime } from '../../../src/core/runtime/system.ts'
import { identityHash } from '../../../src/idempotency/key/identity.ts'
import {
	type SqliteIdempotencyStore,
	sqliteIdempotencyStore,
} from '../../../src/idempotency/store/sqlite/sqlite-store.ts'
import { temporaryFolder } from '../../support/temporary-file.ts'
import { type RunResult, run, start } from '../outbox/run-yaoki.ts'

const HOUR = 3_600_000
const RESPONSE = {
	status: 201,
	headers: [['content-type', 'text/plain']] as const,
	body: new TextEncoder().encode('very secret body'),
}

const identity = { principal: 'user-7', method: 'POST', route: '/charges', key: 'key-1' }
const SELECTED = ['key-1', '--name', 'payments', '--principal', 'user-7', '--route', '/charges']

let file: string
let store: SqliteIdempotencyStore
let offsetMs = 0

beforeEach(async () => {
	offsetMs = 0
	file = join(temporaryFolder(), 'keys.db')
	store = sqliteIdempotencyStore({ file, clock: () => Date.now() + offsetMs })
	await store.migrate()
	onTestFinished(() => store.close())
})

const yaoki = (...args: readonly string[]): Promise<RunResult> =>
	run(['idempotency', ...args, '--database', file])

/** Claims the key of `identity`. */
async function claimed(leaseMs = HOUR, key: Partial<typeof identity> = {}) {
	const ref = { id: await identityHash('payments', { ...identity, ...key }), token: 't' }
	const request = { ...ref, fingerprint: 'f', leaseMs, retentionMs: HOUR, abandoned: 'reject' } as const
	expect((await store.claim(request)).kind).toBe('claimed')
	return { ref, request: { ...request, token: 't2' } }
}

/** Claims the key an hour ago for half an hour. */
async function abandoned(key?: Partial<typeof identity>) {
	offsetMs = -HOUR
	const claim = await claimed(HOUR / 2, key)
	await store.saveStep(claim.ref, 'charge', '{"value":"secret of a step"}')
	offsetMs = 0
	return claim
}

describe('show', () => {
	test('prints a completed key without key, principal and body', async () => {
		const { ref } = await claimed()
		await store.complete(ref, RESPONSE, HOUR)
		const { code, stdout, stderr } = await yaoki('show', ...SELECTED)
		expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
		expect(stdout).toMatch(/state +completed\n/)
		expect(stdout).toMatch(/status +201\n/)
		expect(stdout).toMatch(/body +16 bytes/)
		expect(stdout).not.toMatch(/key-1|user-7|secret/)
	})

	test('prints the same as JSON', async () => {
		const { ref } = await claimed()
		await store.complete(ref, RESPONSE, HOUR)
		const { stdout } = await yaoki('show', ...SELECTED, '--json')
		expect(JSON.parse(stdout)).toMatchObject({ id: ref.id, state: 'completed', status: 201, bodyBytes: 16 })
		expect(stdout).not.toMatch(/key-1|user-7|secret/)
	})

	test('prints how long a running key is locked, and its steps', async () => {
		const { ref } = await claimed()
		await store.saveStep(ref, 'charge', '{"value":"secret of a step"}')
		const { stdout } = await yaoki('show', ...SELECTED)
		expect(stdout).toMatch(/state +running, lease ends in /)
		expect(stdout).toMatch(/steps +charge\n/)
		expect(stdout).not.toContain('secret')
	})

	test('prints that a key is abandoned, released or unstored', async () => {
		const { ref } = await abandoned()
		expect((await yaoki('show', ...SELECTED)).stdout).toMatch(/state +abandoned: its lease ended .* ago/)
		expect(JSON.parse((await yaoki('show', ...SELECTED, '--json')).stdout)).toMatchObject({
			isAbandoned: true,
			leaseLeftMs: expect.toSatisfy((leftMs) => leftMs <= 0, 'ended'),
		})
		await store.release(ref)
		expect((await yaoki('show', ...SELECTED)).stdout).toMatch(/state +released/)
		const other = await claimed(HOUR, { key: 'key-2' })
		await store.complete(other.ref, undefined, HOUR)
		const args = ['key-2', '-n', 'payments', '--principal', 'user-7', '--route', '/charges']
		expect((await yaoki('show', ...args)).stdout).toMatch(/state +completed, without a stored response/)
	})

	test('accepts the key as a quoted string, and a method in lower case', async () => {
		await claimed()
		const args = [
			'"key-1"',
			'-n',
			'payments',
			'--principal',
			'user-7',
			'--route',
			'/charges',
			'--method',
			'post',
		]
		expect((await yaoki('show', ...args)).code).toBe(0)
	})

	test.each([
		['another key', ['key-9', '-n', 'payments', '--principal', 'user-7', '--route', '/charges']],
		['another name', ['key-1', '-n', 'orders', '--principal', 'user-7', '--route', '/charges']],
		['another principal', ['key-1', '-n', 'payments', '--principal', 'user-8', '--route', '/charges']],
		['another route', ['key-1', '-n', 'payments', '--principal', 'user-7', '--route', '/orders']],
		['another method', [...SELECTED, '--method', 'PATCH']],
	])('exits with 3 for %s', async (_, args) => {
		await claimed()
		const { code, stdout, stderr } = await yaoki('show', ...args)
		expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
		expect(stderr).toContain('Nothing is stored for this name, key')
	})

	test.each([
		['no key', ['-n', 'payments', '--principal', 'p', '--route', '/'], 'Missing argument KEY'],
		['an empty key', ['', '-n', 'payments', '--principal', 'p', '--route', '/'], 'KEY is invalid'],
		['two keys', ['a,b', '-n', 'payments', '--principal', 'p', '--route', '/'], 'two different keys'],
		['no name', ['k', '--principal', 'p', '--route', '/'], '--name is required.'],
		['no principal', ['k', '-n', 'payments', '--route', '/'], '--principal is required.'],
		['no route', ['k', '-n', 'payments', '--principal', 'p'], '--route is required.'],
	])('exits with 2 for %s', async (_, args, message) => {
		const { code, stderr } = await yaoki('show', ...args)
		expect(code).toBe(2)
		expect(stderr).toContain(message)
	})
})

describe('resolve', () => {
	test('--rerun lets the next request run with the stored steps', async () => {
		const { request } = await abandoned()
		expect((await store.claim(request)).kind).toBe('abandoned')
		const { code, stdout } = await yaoki('resolve', ...SELECTED, '--rerun')
		expect({ code, stdout }).toEqual({ code: 0, stdout: 'The next request with this key runs.\n' })
		expect(await store.claim(request)).toMatchObject({
			kind: 'claimed',
			steps: { charge: expect.any(String) },
		})
	})

	test('--status stores a response', async () => {
		const { request } = await abandoned()
		const body = join(temporaryFolder(), 'charge.json')
		writeFileSync(body, '{"id":1}')
		const args = ['--status', '201', '--body-file', body, '--content-type', 'application/json; charset=utf-8']
		const { code, stdout } = await yaoki('resolve', ...SELECTED, ...args, '--json')
		expect(code).toBe(0)
		expect(JSON.parse(stdout)).toMatchObject({ decision: 'response', status: 201 })
		expect(await store.claim(request)).toEqual({
			kind: 'completed',
			response: {
				status: 201,
				headers: [['content-type', 'application/json; charset=utf-8']],
				body: new TextEncoder().encode('{"id":1}'),
			},
		})
	})

	test('resolve without a body stores none', async () => {
		const { request } = await abandoned()
		expect((await yaoki('resolve', ...SELECTED, '--status', '204')).code).toBe(0)
		expect(await store.claim(request)).toMatchObject({ response: { status: 204, headers: [] } })
	})

	test.each([
		['is running', 'running, lease ends in'],
		['is completed', 'completed. Only an abandoned key can be resolved'],
		['does not exist', 'Nothing is stored'],
	])('exits with 3 and changes nothing if the key %s', async (state, message) => {
		if (state !== 'does not exist') {
			const { ref } = await claimed()
			if (state === 'is completed') await store.complete(ref, RESPONSE, HOUR)
		}
		const before = await store.find(await identityHash('payments', identity))
		const { code, stderr } = await yaoki('resolve', ...SELECTED, '--rerun')
		expect(code).toBe(3)
		expect(stderr).toContain(message)
		expect((await store.find(await identityHash('payments', identity)))?.state).toBe(before?.state)
	})

	test.each([
		['no decision', [], 'Give either --rerun or --status.'],
		['two decisions', ['--rerun', '--status', '200'], 'Give either --rerun or --status.'],
		['a body without a status', ['--rerun', '--body-file', 'x'], '--body-file requires --status.'],
		['a status that no response has', ['--status', '99'], '--status'],
		['a header that cannot be sent', ['--status', '200', '--content-type', 'a\r\nb'], '--content-type'],
		['an invalid retention', ['--status', '200', '--retention', 'long'], '--retention'],
	])('exits with 2 for %s', async (_, args, message) => {
		const { code, stderr } = await yaoki('resolve', ...SELECTED, ...args)
		expect(code).toBe(2)
		expect(stderr).toContain(message)
	})

	test('exits with 3 for a body file that does not exist', async () => {
		await abandoned()
		const ran = await yaoki('resolve', ...SELECTED, '--status', '200', '--body-file', '/no/such/file')
		expect(ran.code).toBe(3)
	})
})

describe('purge', () => {
	async function expired(count: number) {
		offsetMs = -3 * HOUR
		for (let at = 0; at < count; at++) await claimed(HOUR / 2, { key: `old-${at}` })
		offsetMs = 0
		await claimed()
	}

	test('deletes expired keys in batches and keeps the others', async () => {
		await expired(25)
		expect(await yaoki('purge', '--batch-size', '10')).toEqual({
			code: 0,
			stdout: 'Deleted 25 expired keys.\n',
			stderr: '',
		})
		expect(JSON.parse((await yaoki('purge', '--json')).stdout)).toEqual({ purged: 0, isComplete: true })
		expect(await store.find(await identityHash('payments', identity))).toMatchObject({ state: 'running' })
	})

	test('stops after a batch on Ctrl-C, with the result so far and exit code 130', async () => {
		await expired(60)
		const running = start(['idempotency', 'purge', '--batch-size', '1', '--database', file, '--json'])
		const isPartly = async () => (await count()) < 61
		await expect.poll(isPartly, { interval: 0, timeout: 20_000 }).toBe(true)
		running.interrupt()
		const { code, stdout } = await running.ended
		expect(code).toBe(130)
		const { purged, isComplete } = JSON.parse(stdout)
		expect(isComplete).toBe(false)
		expect(await count()).toBe(61 - purged)
	})

	test('notes how far a long run is', async () => {
		await expired(25)
		const notes: string[] = []
		let now = 0
		const io = {
			env: {},
			warn() {},
			result() {},
			signal: new AbortController().signal,
			note: (text: string) => void notes.push(text),
			// Each reading is three seconds later.
			runtime: { ...systemRuntime, now: () => (now += 3_000) },
		}
		await purge.run({ database: file, batchSize: 5 }, io as unknown as CommandIo)
		expect(notes).toEqual([10, 20].map((count) => `Deleted ${count} keys so far.`))
	})

	async function count(): Promise<number> {
		const database = new DatabaseSync(file)
		try {
			return Number(database.prepare('SELECT count(*) AS n FROM yaoki_idempotency_keys').get()?.['n'])
		} finally {
			database.close()
		}
	}
})

describe('delete', () => {
	test('needs --yes, and then the next request runs', async () => {
		const { ref, request } = await claimed()
		await store.complete(ref, RESPONSE, HOUR)
		const asked = await yaoki('delete', ...SELECTED)
		expect(asked.code).toBe(2)
		expect(asked.stderr).toContain('This would delete a key that is completed.')
		expect((await store.claim(request)).kind).toBe('completed')
		const { code, stdout } = await yaoki('delete', ...SELECTED, '--yes')
		expect({ code, stdout }).toEqual({ code: 0, stdout: 'Deleted a key that was completed.\n' })
		expect((await store.claim(request)).kind).toBe('claimed')
		expect((await yaoki('delete', 'key-9', ...SELECTED.slice(1), '--yes')).code).toBe(3)
	})

	test('needs --force for a key whose request runs', async () => {
		const { ref } = await claimed()
		const { code, stderr } = await yaoki('delete', ...SELECTED, '--yes')
		expect(code).toBe(1)
		expect(stderr).toContain('It was not deleted.')
		const forced = await yaoki('delete', ...SELECTED, '--yes', '--force', '--json')
		expect(JSON.parse(forced.stdout)).toEqual({ id: ref.id, deleted: true, state: 'running' })
		expect(await store.complete(ref, RESPONSE, HOUR)).toBe(false)
	})
})

describe('migrate and sql', () => {
	test('migrate creates the file and its tables; a second run changes nothing', async () => {
		const other = join(temporaryFolder(), 'new.db')
		const first = await run(['idempotency', 'migrate', '--database', other])
		expect(first).toMatchObject({ code: 0, stderr: '' })
		expect(first.stdout).toContain(`${other}: migrated from version 0 to 1`)
		const second = await run(['idempotency', 'migrate', '--json'], { DATABASE_URL: other })
		expect(JSON.parse(second.stdout)).toMatchObject({ database: other, applied: [] })
	})

	test('sql prints what migrate runs', async () => {
		const other = join(temporaryFolder(), 'by-hand.db')
		const { stdout } = await run(['idempotency', 'sql', '--dialect', 'sqlite'])
		const database = new DatabaseSync(other)
		database.exec(stdout)
		database.close()
		expect((await run(['idempotency', 'migrate', '--database', other])).stdout).toContain('up to date')
		const schema = await run(['idempotency', 'sql', '--schema', 'mine'])
		expect(schema.stdout).toContain('create table "mine".idempotency_keys (')
	})

	test.each([
		'purge',
		'show k -n n -p p -r /',
		'resolve k -n n -p p -r / --rerun',
		'delete k -n n -p p -r / --yes',
	])('%s reports a missing file and missing tables with the command that creates them', async (command) => {
		const other = join(temporaryFolder(), 'none.db')
		const args = ['idempotency', ...command.split(' '), '--database', other]
		const missing = await run(args)
		expect(missing.code).toBe(5)
		expect(missing.stderr).toContain(`'yaoki idempotency migrate --database ${other}'`)
		new DatabaseSync(other).close()
		const empty = await run(args)
		expect(empty.code).toBe(1)
		expect(empty.stderr).toContain('has no idempotency tables')
		expect(empty.stderr).toContain(`'yaoki idempotency migrate --database ${other}'`)
	})
})

describe('hostile texts', () => {
	const HOSTILE = 'a\x1b[2J\x9b31m\x07\u202E\u2028\r\nok fake line'
	const ACTED_ON = /[^\n\P{Cc}]|[\u061C\u200E\u200F\u2028\u2029\u202A-\u202E\u2066-\u2069]/u

	test.each([
		['a step', async () => [...SELECTED]],
		['a key', async () => [HOSTILE, '-n', 'payments', '--principal', 'p', '--route', '/']],
		['a principal', async () => ['k', '-n', 'payments', '--principal', HOSTILE, '--route', '/']],
		['a route', async () => ['k', '-n', 'payments', '--principal', 'p', '--route', HOSTILE]],
	])('hostile texts of %s print no character that a terminal acts on', async (_, args) => {
		const { ref } = await claimed()
		await store.saveStep(ref, HOSTILE, '1')
		for (const more of [[], ['--json']]) {
			const { stdout, stderr } = await yaoki('show', ...(await args()), ...more)
			expect(ACTED_ON.exec(stdout)).toBeNull()
			expect(ACTED_ON.exec(stderr)).toBeNull()
			expect(stdout).not.toMatch(/^ok fake line/m)
		}
	})
})
