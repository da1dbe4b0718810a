/** Sources that fail or hang, and what is read of which source. */
import { expect, test } from 'vitest'
import { idempotency, memoryIdempotencyStore } from 'yaoki/idempotency'
import { Inbox, sqliteInboxStore } from 'yaoki/outbox'
import { virtualRuntime } from 'yaoki/testing'
import type { Observable } from '../../../src/core/observe/observation.ts'
import { createQueue } from '../../../src/dashboard/queue/queue.ts'
import { openSqliteMemory } from '../../outbox/store/open-sqlite.ts'
import { setupWebhooks } from '../../outbox/webhooks/setup.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryFile } from '../../support/temporary-file.ts'
import { SETTINGS, testQueue } from './setup.ts'

/** An inbox whose database the test controls. */
function fakeInbox(stats: () => Promise<unknown>): Observable {
	return { '~observable': () => ({ kind: 'inbox' }), stats } as Observable
}

const FIGURES = {
	marks: { count: 3, isCapped: false },
	expired: { count: 0, isCapped: false },
	oldestAgeMs: 5,
}

test('a source that hangs is a problem after 3 s, and the others are shown', async () => {
	const runtime = virtualRuntime()
	let reads = 0
	let respond: (() => void) | undefined
	const hanging = fakeInbox(() => {
		reads += 1
		return reads === 1
			? Promise.resolve(FIGURES)
			: new Promise((resolve) => (respond = () => resolve(FIGURES)))
	})
	const queue = createQueue({ hanging, other: fakeInbox(async () => FIGURES) }, { ...SETTINGS, runtime })
	expect((await queue.overview()).problems).toEqual([])
	const second = queue.overview()
	await runtime.advance(3_000)
	const { inboxes, problems } = await second
	expect(inboxes.map(({ source }) => source)).toEqual(['hanging', 'other'])
	expect(problems).toEqual([
		{
			severity: 'error',
			kind: 'unreadable',
			source: 'hanging',
			sinceMs: 3_000,
			error: 'no response within 3000 ms',
		},
	])
	// No second read is started while one hangs, and no viewer waits for it again.
	expect((await queue.overview()).problems).toMatchObject([{ kind: 'unreadable', sinceMs: 3_000 }])
	expect(reads).toBe(2)
	respond?.()
	await runtime.advance(0)
	const after = queue.overview()
	await runtime.advance(1_000)
	respond?.()
	expect(await after).toMatchObject({ inboxes: [{ source: 'hanging' }, { source: 'other' }], problems: [] })
})

test('a source that fails is a problem with its error, without secrets, until it responds', async () => {
	const runtime = virtualRuntime()
	let isDown = true
	const source = fakeInbox(async () => {
		if (isDown) throw new Error('password hunter2 rejected')
		return FIGURES
	})
	const queue = createQueue({ source }, { ...SETTINGS, runtime })
	expect(await queue.overview()).toMatchObject({
		inboxes: [],
		problems: [{ kind: 'unreadable', error: 'password *** rejected', sinceMs: 0 }],
	})
	await runtime.advance(5_000)
	expect((await queue.overview()).problems).toMatchObject([{ sinceMs: 5_000 }])
	isDown = false
	expect(await queue.overview()).toMatchObject({ inboxes: [{ source: 'source' }], problems: [] })
})

test('concurrent overviews share one read, and nothing is read without one', async () => {
	let reads = 0
	const source = fakeInbox(async () => {
		reads += 1
		return FIGURES
	})
	const queue = createQueue({ source }, SETTINGS)
	expect(reads).toBe(0)
	await Promise.all([queue.overview(), queue.overview(), queue.overview()])
	expect(reads).toBe(1)
	await queue.overview()
	expect(reads).toBe(2)
})

test('shows inboxes', async () => {
	const inbox = new Inbox({ store: sqliteInboxStore({ file: temporaryFile() }), name: 'orders' })
	await inbox.migrate()
	const { inboxes, problems } = await createQueue({ inbox }, SETTINGS).overview()
	expect(inboxes).toEqual([
		{
			source: 'inbox',
			oldestAgeMs: null,
			marks: { count: 0, isCapped: false },
			expired: { count: 0, isCapped: false },
		},
	])
	expect(problems).toEqual([])
	await inbox.close()
})

test('counts replays, conflicts and abandoned keys of an idempotency engine until it is closed', async () => {
	const runtime = virtualRuntime()
	const store = memoryIdempotencyStore({ runtime })
	const options = { store, runtime, principal: () => 'ada', purgeEveryMs: 0 }
	const engine = idempotency({ ...options, abandoned: 'reject', leaseMs: 1_000, maxRunMs: 1_000 })
	const queue = createQueue({ engine }, { ...SETTINGS, runtime })
	const ada = { principal: 'ada' }
	await engine.run('k1', 1, () => 'done', ada)
	await engine.run('k1', 1, () => 'done', ada)
	void engine.run('k2', 1, () => new Promise(() => {}), ada)
	await runtime.advance(3_000)
	await expect(engine.run('k2', 1, () => 'again', ada)).rejects.toThrow()
	expect((await queue.overview()).idempotency).toMatchObject([
		{ source: 'engine', replays: 1, conflicts: 1, abandoned: 1, figures: { unstored: 0 } },
	])
	await queue.close()
	await engine.run('k1', 1, () => 'done', ada)
	expect((await queue.overview()).idempotency).toMatchObject([{ replays: 1 }])
})

test('lists, disables, enables and tests endpoints of webhooks, without secrets', async () => {
	await using t = await setupWebhooks()
	const { webhooks, system } = t
	const { outbox } = system
	const queue = createQueue({ hooks: webhooks, outbox }, SETTINGS)
	const { endpoint, secret } = await webhooks.endpoints.create({
		url: 'https://a.example/hook?token=hunter2',
		topics: ['*'],
		tenant: 'acme',
	})
	const other = await webhooks.endpoints.create({ url: 'https://b.example/', topics: ['x'] })
	const { id } = endpoint
	const page = await queue.endpoints({ limit: '1' })
	expect(page).toMatchObject({
		endpoints: [{ id, tenant: 'acme', url: 'https://a.example/hook?token=***', isEnabled: true }],
		next: id,
	})
	expect(JSON.stringify(page)).not.toContain(secret)
	expect(await queue.endpoints({ after: id })).toMatchObject({
		endpoints: [{ id: other.endpoint.id, tenant: '' }],
		next: null,
	})
	expect((await queue.endpoints({ tenant: '' })).endpoints).toHaveLength(1)
	const actor = { by: 'ada' }
	const disable = { action: 'disable-endpoint', source: 'hooks', id, reason: 'asked' } as const
	expect(await queue.plan(disable)).toMatchObject({
		destinations: [`webhook:${id}`],
		command: `npx yaoki webhooks disable ${id} --reason asked`,
	})
	expect(await queue.run(disable, actor)).toMatchObject({ changed: 1 })
	expect((await queue.endpoints({ isEnabled: 'false' })).endpoints).toMatchObject([
		{ id, disabledReason: 'operator', actions: [{ action: 'enable-endpoint' }, {}, {}] },
	])
	expect((await queue.overview()).webhooks).toMatchObject([
		{ source: 'hooks', enabled: 1, failing: 0, disabled: { operator: 1 } },
	])
	await queue.run({ action: 'enable-endpoint', source: 'hooks', id }, actor)
	await queue.run({ action: 'test-endpoint', source: 'hooks', id }, actor)
	expect((await queue.messages({ destination: `webhook:${id}` })).messages).toMatchObject([
		{ topic: 'webhook.test' },
	])
	expect((await queue.audit({ destination: `webhook:${id}` })).records).toMatchObject([
		{ action: 'enable-endpoint', by: 'ada' },
		{ action: 'disable-endpoint', by: 'ada', reason: 'asked' },
		{ action: 'create-endpoint' },
	])
	const resend = { action: 'resend-endpoint', source: 'hooks', id, since: 0 } as const
	expect(await queue.run(resend, actor)).toMatchObject({ job: { action: 'resend-endpoint', by: 'ada' } })
	await eventually(async () => {
		expect((await queue.overview()).jobs).toMatchObject([{ state: 'done', changed: 0 }])
	})
	await queue.close()
})

test('a job is listed for an hour after its end', async () => {
	const runtime = virtualRuntime()
	await using t = await testQueue(await openSqliteMemory(), {}, { runtime })
	await t.die(1)
	await t.queue.run(
		{ action: 'discard', source: 'orders', selection: { all: true }, reason: 'x' },
		{ by: 'ada' },
	)
	await eventually(async () => {
		expect((await t.queue.overview()).jobs).toMatchObject([{ state: 'done', changed: 1 }])
	})
	await runtime.advance(3_599_999)
	expect((await t.queue.overview()).jobs).toMatchObject([{ action: 'discard' }])
	await runtime.advance(2)
	expect((await t.queue.overview()).jobs).toEqual([])
})
