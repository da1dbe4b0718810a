/** What the page reads of a queue and does with it, on a real database. */
import { describe, expect, test } from 'vitest'
import type { MessagesPage } from '../../../src/dashboard/contract.ts'
import type { Query, QueueAction, QueuePart } from '../../../src/dashboard/parts.ts'
import type { OutboxStoreUnderTest } from '../../../src/outbox/testing/index.ts'
import { eventually } from '../../support/eventually.ts'
import { RELAY, testQueue } from './setup.ts'

const idsOf = ({ messages }: MessagesPage): string[] => messages.map(({ id }) => id)

/** Reads all pages. */
async function searchAll(queue: QueuePart, query: Query): Promise<string[]> {
	const ids: string[] = []
	let after: string | undefined
	do {
		const page = await queue.messages({ ...query, after })
		ids.push(...idsOf(page))
		after = page.next ?? undefined
	} while (after !== undefined)
	return ids
}

const run = (queue: QueuePart, action: object) => queue.run(action as QueueAction, { by: 'ada' })

/** Runs a bulk action and returns its job after its end. */
async function runJob(queue: QueuePart, action: object) {
	const { job } = await run(queue, { source: 'orders', ...action })
	return eventually(async () => {
		const { jobs } = await queue.overview()
		const found = jobs.find(({ id }) => id === job?.id)
		expect(found?.state).toMatch(/done|failed|cancelled/)
		return found
	})
}

export function queueSuite(open: () => Promise<OutboxStoreUnderTest>): void {
	describe('the overview', () => {
		test('shows counts, circuits, pauses and relays of an outbox', async () => {
			await using t = await testQueue(await open())
			await t.under.store.heartbeat(RELAY, 600_000)
			await t.die(2)
			await t.enqueue({}, { destination: 'mail.welcome' })
			await t.outbox.pause('billing', { by: 'ada', reason: 'migration' })
			const { outboxes, problems } = await t.queue.overview()
			expect(outboxes).toHaveLength(1)
			expect(outboxes[0]).toMatchObject({
				source: 'orders',
				keepsHistory: true,
				totals: { due: { count: 2 }, dead: { count: 2 } },
				throughput: 4,
				relays: [{ id: 'relay-1', isAlive: true, isThisProcess: true, sent: 3 }],
			})
			expect(outboxes[0]?.destinations).toMatchObject([
				{ destination: 'billing', pause: 'operator', pausedBy: 'ada', pauseReason: 'migration' },
				{ destination: 'mail.welcome', pause: null, due: { count: 1 } },
			])
			expect(outboxes[0]?.forecast).toHaveLength(12)
			expect(problems.map(({ kind }) => kind).sort()).toEqual(['dead-letters', 'destination-paused'])
		})

		test('names due messages that no relay serves, and relays that have ended', async () => {
			await using t = await testQueue(await open())
			await t.enqueue({}, { destination: 'shipping' })
			await t.under.store.heartbeat({ ...RELAY, heartbeatMs: 100 }, 10 * 600_000)
			expect((await t.queue.overview()).problems).toMatchObject([
				{ kind: 'no-relay', severity: 'error', sinceMs: null, due: { count: 1 } },
			])
			await t.under.advance(60_000)
			const { problems, outboxes } = await t.queue.overview()
			expect(problems).toMatchObject([
				{ kind: 'no-relay', due: { count: 2 } },
				{ kind: 'relay-ended', relay: 'relay-1' },
			])
			expect(outboxes[0]?.relays).toMatchObject([{ isAlive: false }])
		})
	})

	describe('a search', () => {
		test('finds messages by id, destination, key, cause, status and time, page by page', async () => {
			await using t = await testQueue(await open())
			const dead = await t.die(3, { key: 'k1' }, { cause: 'expired' })
			const other = await t.die(1, { destination: 'shipping' })
			await t.under.advance(60_000)
			const queued = await t.enqueue({ key: 'k1' }, { destination: 'shipping', key: 'k1' }, {})
			const from = String((await t.outbox.find(queued[0] ?? ''))?.createdAt.getTime())
			expect(await searchAll(t.queue, { limit: '2' })).toEqual([...dead, ...other, ...queued])
			expect(await searchAll(t.queue, { key: 'k1', limit: '1' })).toEqual([...dead, ...queued.slice(0, 2)])
			expect(await searchAll(t.queue, { destination: 'shipping' })).toEqual([...other, queued[1]])
			expect(await searchAll(t.queue, { cause: 'expired' })).toEqual(dead)
			expect(await searchAll(t.queue, { status: 'pending', limit: '3' })).toEqual(queued)
			expect(await searchAll(t.queue, { from })).toEqual(queued)
			expect(await searchAll(t.queue, { until: from })).toEqual([...dead, ...other])
			expect(await searchAll(t.queue, { id: dead[1]?.toUpperCase() })).toEqual([dead[1]])
			const [claimed] = await t.claim('shipping')
			expect(await searchAll(t.queue, { status: 'in-flight' })).toEqual([claimed?.id])
		})

		test('shows sent messages of the history after the others', async () => {
			await using t = await testQueue(await open())
			const sent = await t.enqueue({}, {}, {})
			await t.send('billing')
			const queued = await t.enqueue({}, {})
			expect(await searchAll(t.queue, { limit: '2' })).toEqual([...queued, ...sent])
			expect(await searchAll(t.queue, { limit: '5' })).toEqual([...queued, ...sent])
			expect(await searchAll(t.queue, { status: 'sent' })).toEqual(sent)
		})

		test('scans for topic, text of the error and a value in the payload', async () => {
			await using t = await testQueue(await open())
			const [a, b, c] = await t.enqueue(
				{ topic: 'order.paid', payload: { customer: { id: 7 }, items: [{ sku: 'x' }, { sku: 'y' }] } },
				{ payload: { customer: { id: '7' }, items: [{ sku: 'z' }] } },
				{ payload: [null, { customer: { id: 8 } }] },
			)
			const [dead] = await t.die(1, { destination: 'mail' }, { error: 'Connection REFUSED hunter2' })
			expect(await searchAll(t.queue, { topic: 'order.paid' })).toEqual([a])
			expect(await searchAll(t.queue, { path: 'customer.id', value: '7' })).toEqual([a, b])
			expect(await searchAll(t.queue, { path: 'items[1].sku', value: 'y' })).toEqual([a])
			expect(await searchAll(t.queue, { path: 'items.sku', value: 'z' })).toEqual([b])
			expect(await searchAll(t.queue, { path: 'customer.id', value: '8' })).toEqual([c])
			expect(await searchAll(t.queue, { path: 'customer.toString', value: '8' })).toEqual([])
			expect(await searchAll(t.queue, { text: 'refused' })).toEqual([dead])
			// What is hidden cannot be found.
			expect(await searchAll(t.queue, { text: 'hunter2' })).toEqual([])
		})

		test('a scan reads at most 10,000 messages per request, and continues where it ended', async () => {
			await using t = await testQueue(await open())
			for (let at = 0; at < 21; at++)
				await t.outbox.enqueue(
					Array.from({ length: 500 }, () => ({ topic: 't', destination: 'billing', payload: 0 })),
				)
			const [last] = await t.enqueue({ topic: 'wanted', destination: 'mail' })
			let scanned = 0
			let found: string[] = []
			let after: string | undefined
			let requests = 0
			do {
				const page = await t.queue.messages({ topic: 'wanted', after })
				expect(page.scanned).toBeLessThanOrEqual(10_000)
				scanned += page.scanned
				found = [...found, ...idsOf(page)]
				after = page.next ?? undefined
				requests += 1
			} while (after !== undefined)
			expect({ scanned, found }).toEqual({ scanned: 10_501, found: [last] })
			expect(requests).toBeGreaterThan(1)
			// The database finds messages in flight: it sends no others, and reads no dead letters.
			await t.claim('mail')
			const inFlight = await t.queue.messages({ status: 'in-flight' })
			expect(inFlight).toMatchObject({
				messages: [{ id: last, status: 'in-flight' }],
				next: null,
				scanned: 1,
			})
		})
	})

	describe('the page of a message', () => {
		test('shows a dead letter with why, timeline, payload, audit and the actions that fit', async () => {
			await using t = await testQueue(await open(), {}, { flags: ' --database ./shop.db' })
			const [id = ''] = await t.die(
				1,
				{ payload: { n: 1 }, headers: { authorization: 'Basic x', trace: 'hunter2' }, key: 'k' },
				{ isLogged: true },
			)
			expect(await t.queue.message({ id })).toMatchObject({
				id,
				status: 'dead',
				key: 'k',
				cause: 'permanent',
				error: 'HttpError: HTTP 500',
				why: expect.stringContaining('permanent failure'),
				payload: '{\n  "n": 1\n}',
				headers: { authorization: '***', trace: '***' },
				timeline: [{ attempt: 1, statusCode: 500, response: 'sorry', outcome: 'dead' }],
				hasAttemptLog: true,
				actions: [
					{ action: 'replay', command: `npx yaoki outbox replay ${id} --database ./shop.db` },
					{ action: 'discard', command: `npx yaoki outbox discard ${id} --yes --database ./shop.db` },
				],
				audit: [],
			})
			await runJob(t.queue, { action: 'replay', selection: { ids: [id] }, reason: 'fixed' })
			expect(await t.queue.message({ id })).toMatchObject({
				status: 'pending',
				actions: [{ action: 'retry' }, { action: 'expire' }],
				audit: [{ by: 'ada', action: 'replay', reason: 'fixed', messageId: id }],
			})
			await t.send('billing')
			expect(await t.queue.message({ id })).toMatchObject({ status: 'sent', actions: [{ action: 'resend' }] })
			expect(await run(t.queue, { action: 'resend', source: 'orders', id })).toMatchObject({ changed: 1 })
			expect(await t.queue.message({ id })).toMatchObject({ status: 'pending' })
		})

		test('tells a discarded message from a dead letter, and finds it in the audit without a history', async () => {
			for (const historyForMs of [600_000, 0]) {
				await using t = await testQueue(await open(), { historyForMs })
				const [id = ''] = await t.die(1)
				await runJob(t.queue, { action: 'discard', selection: { ids: [id] }, reason: 'duplicate' })
				expect(await t.queue.message({ id })).toMatchObject({
					status: 'discarded',
					destination: 'billing',
					topic: 'order.placed',
					cause: 'permanent',
					actions: [],
					audit: [{ action: 'discard', reason: 'duplicate', by: 'ada' }],
				})
			}
		})

		test('hides payload, headers, responses and edits, and returns undefined for an unknown id', async () => {
			await using t = await testQueue(await open(), {}, { payloads: 'hidden' })
			const [id = ''] = await t.die(1, { payload: 'secret', headers: { a: 'b' } }, { isLogged: true })
			await t.outbox.dead.edit(id, { payload: 'other' }, { by: 'eve' })
			const shown = await t.queue.message({ id })
			expect(shown).toMatchObject({ payload: null, headers: {}, timeline: [{ response: null }] })
			expect(JSON.stringify(shown)).not.toMatch(/secret|other/)
			await expect(t.queue.messages({ path: 'a', value: 'b' })).rejects.toThrow('"path"')
			expect(await t.queue.message({ id: '019a8f0e-7b4c-7d31-9a52-0c8f1e6b2d77' })).toBeUndefined()
		})
	})

	test('dead letters are grouped, largest group first, with actions for exactly the group', async () => {
		await using t = await testQueue(await open())
		await t.die(1, { destination: "o'neil" }, { error: 'HTTP 404' })
		const many = await t.die(3)
		expect(await t.queue.dead({ limit: '1' })).toMatchObject({
			groups: [
				{
					count: { count: 3 },
					destination: 'billing',
					error: 'HttpError: HTTP 500',
					exampleId: many[0],
					actions: [{ action: 'replay' }, { action: 'discard' }],
				},
			],
			hasMore: true,
		})
		const { groups } = await t.queue.dead({ destination: "o'neil" })
		expect(groups[0]?.actions[0]?.command).toBe(
			"npx yaoki outbox replay --fingerprint 'of HTTP 404' --destination 'o'\\''neil' --cause permanent --canary",
		)
	})

	test('the audit has a page after the other, newest first', async () => {
		await using t = await testQueue(await open())
		for (const destination of ['a', 'b', 'c'])
			await run(t.queue, { action: 'pause', source: 'orders', destination, forMs: 60_000, reason: 'why' })
		const first = await t.queue.audit({ limit: '2' })
		expect(first.records).toMatchObject([
			{ action: 'pause', destination: 'c', by: 'ada', reason: 'why', details: '{"forMs":60000}' },
			{ destination: 'b' },
		])
		const second = await t.queue.audit({ limit: '2', before: first.next ?? '' })
		expect(second).toMatchObject({ records: [{ destination: 'a' }], next: null })
	})

	describe('an action', () => {
		test('pauses, resumes and closes circuits, with plan and command', async () => {
			await using t = await testQueue(await open())
			await t.enqueue({})
			const pause = { action: 'pause', source: 'orders', destination: 'billing', reason: 'a b' }
			expect(await t.queue.plan(pause as QueueAction)).toEqual({
				matching: { count: 1, isCapped: false },
				destinations: ['billing'],
				waiting: [],
				command: "npx yaoki outbox pause --reason 'a b' billing",
			})
			expect(await run(t.queue, pause)).toMatchObject({ changed: 1, job: null })
			const resume = { action: 'resume', source: 'orders', destination: 'billing' }
			expect(await t.queue.plan(resume as QueueAction)).toMatchObject({ waiting: ['billing'] })
			expect(await run(t.queue, resume)).toMatchObject({ changed: 1 })
			expect(await run(t.queue, resume)).toMatchObject({ changed: 0 })
			const close = { action: 'close-circuit', source: 'orders', destination: 'billing' }
			expect(await run(t.queue, close)).toMatchObject({
				changed: 0,
				command: 'npx yaoki outbox retry --destination billing --close-circuit',
			})
			const { records } = await t.queue.audit({})
			expect(records.map(({ action, by }) => `${action} ${by}`)).toEqual(['resume ada', 'pause ada'])
		})

		test('plans and replays all matching dead letters, and no others', async () => {
			await using t = await testQueue(await open())
			const billing = await t.die(5)
			await t.die(2, { destination: 'shipping' })
			await t.outbox.pause('billing')
			const action = { action: 'replay', source: 'orders', selection: { destination: 'billing' } }
			expect(await t.queue.plan(action as QueueAction)).toMatchObject({
				matching: { count: 5, isCapped: false },
				destinations: ['billing'],
				waiting: ['billing'],
				command: 'npx yaoki outbox replay --destination billing',
			})
			expect(await runJob(t.queue, action)).toMatchObject({ state: 'done', changed: 5, by: 'ada' })
			expect(await searchAll(t.queue, { status: 'pending' })).toEqual(billing)
			expect(await t.outbox.dead.count()).toMatchObject({ count: 2 })
			expect((await t.queue.audit({})).records).toHaveLength(6)
		})

		test('discards only with a reason, and everything only with all', async () => {
			await using t = await testQueue(await open())
			await t.die(3)
			const discard = { action: 'discard', source: 'orders', selection: { all: true } }
			await expect(run(t.queue, discard)).rejects.toThrow('"reason"')
			expect(await t.queue.plan(discard as QueueAction)).toMatchObject({ matching: { count: 3 } })
			expect(await runJob(t.queue, { ...discard, reason: 'test data' })).toMatchObject({ changed: 3 })
			expect(await t.outbox.dead.count()).toMatchObject({ count: 0 })
		})

		test('has the status of the list, and never changes messages of another status', async () => {
			await using t = await testQueue(await open())
			const dead = await t.die(2)
			const queued = await t.enqueue({}, {})
			expect(await searchAll(t.queue, { status: 'pending', destination: 'billing' })).toEqual(queued)
			for (const selection of [
				{ status: 'pending', destination: 'billing' },
				{ status: 'pending', all: true },
			])
				for (const action of ['discard', 'replay']) {
					const wrong = { action, source: 'orders', selection, reason: 'r' }
					await expect(t.queue.plan(wrong as QueueAction)).rejects.toThrow('"selection.status"')
					await expect(run(t.queue, wrong)).rejects.toThrow('"selection.status"')
				}
			const ofDead = { action: 'expire', source: 'orders', selection: { status: 'dead', all: true } }
			await expect(run(t.queue, ofDead)).rejects.toThrow('"selection.status"')
			expect(await searchAll(t.queue, {})).toEqual([...dead, ...queued])
			const selection = { status: 'pending', destination: 'billing' }
			expect(await runJob(t.queue, { action: 'expire', selection })).toMatchObject({ changed: 2 })
			const discard = { action: 'discard', selection: { status: 'dead', all: true }, reason: 'r' }
			expect(await t.queue.plan({ source: 'orders', ...discard } as QueueAction)).toMatchObject({
				matching: { count: 2 },
				command: 'npx yaoki outbox discard --all --yes --reason r',
			})
			expect(await runJob(t.queue, discard)).toMatchObject({ changed: 2 })
			expect(await searchAll(t.queue, {})).toEqual(queued)
		})

		test('expires and retries queued messages', async () => {
			await using t = await testQueue(await open())
			const [first = ''] = await t.enqueue({}, {}, { destination: 'shipping' })
			const rows = await t.claim('billing')
			await t.under.store.settle(
				'relay-1',
				rows.map(({ id, attempt }) => ({
					id,
					attempt,
					type: 'retry',
					inMs: 60_000,
					delayMs: null,
					error: { type: 'Error', message: 'm', fingerprint: 'f' },
				})),
				false,
			)
			const selection = { destination: 'billing' }
			const retry = { action: 'retry', source: 'orders', selection, reason: 'recovered' }
			expect(await t.queue.plan(retry as QueueAction)).toMatchObject({ matching: { count: 2 } })
			expect(await runJob(t.queue, { ...retry, selection: { ids: [first] } })).toMatchObject({ changed: 1 })
			expect(await t.queue.plan(retry as QueueAction)).toMatchObject({ matching: { count: 1 } })
			expect(await runJob(t.queue, retry)).toMatchObject({ changed: 1 })
			const expire = { action: 'expire', source: 'orders', selection, reason: 'too late' }
			expect(await t.queue.plan(expire as QueueAction)).toMatchObject({ matching: { count: 2 } })
			expect(await runJob(t.queue, expire)).toMatchObject({ changed: 2 })
			expect(await t.queue.plan(expire as QueueAction)).toMatchObject({ matching: { count: 0 } })
			expect((await t.queue.audit({})).records).toMatchObject([
				{ action: 'expire', by: 'ada', reason: 'too late' },
				{ action: 'expire' },
				{ action: 'retry', by: 'ada', reason: 'recovered' },
				{ action: 'retry' },
			])
		})
	})

	describe('a job', () => {
		test('replays at a rate until it is cancelled', async () => {
			await using t = await testQueue(await open())
			await t.die(5)
			const replay = { action: 'replay', source: 'orders', selection: { all: true }, perSecond: 0.001 }
			const { job } = await run(t.queue, replay)
			expect(job).toMatchObject({ state: 'running', total: { count: 5 } })
			await eventually(async () => {
				expect((await t.queue.overview()).jobs).toMatchObject([{ state: 'running', changed: 1 }])
			})
			await run(t.queue, { action: 'cancel-job', source: 'orders', id: job?.id })
			await eventually(async () => {
				expect((await t.queue.overview()).jobs).toMatchObject([{ state: 'cancelled', changed: 1 }])
			})
			expect(await t.outbox.dead.count()).toMatchObject({ count: 4 })
		})

		test('replays each message once at a rate, in their order', async () => {
			await using t = await testQueue(await open())
			const ids = await t.die(7)
			const replay = { action: 'replay', selection: { destination: 'billing' }, perSecond: 1_000 }
			expect(await runJob(t.queue, replay)).toMatchObject({ state: 'done', changed: 7 })
			expect(await searchAll(t.queue, { status: 'pending' })).toEqual(ids)
			expect((await t.queue.audit({})).records).toHaveLength(7)
		})

		test('waits for the first message of a canary, and ends when it fails as before', async () => {
			await using t = await testQueue(await open())
			await t.die(20)
			const replay = { action: 'replay', source: 'orders', selection: { all: true }, canary: true }
			const { job } = await run(t.queue, replay)
			expect(job).toMatchObject({ state: 'canary' })
			const [first] = await eventually(async () => {
				const rows = await t.claim('billing')
				expect(rows).toHaveLength(1)
				return rows
			})
			expect((await t.queue.overview()).jobs).toMatchObject([{ state: 'canary', changed: 1 }])
			await t.under.store.settle(
				'relay-1',
				[
					{
						id: first?.id ?? '',
						attempt: 1,
						type: 'dead',
						cause: 'permanent',
						error: { type: 'HttpError', message: 'HTTP 500', fingerprint: 'of HTTP 500' },
						afterDeadLetter: 'skip',
					},
				],
				true,
			)
			await eventually(async () => {
				expect((await t.queue.overview()).jobs).toMatchObject([
					{ state: 'failed', changed: 1, error: expect.stringContaining('same error') },
				])
			})
			expect(await t.outbox.dead.count()).toMatchObject({ count: 20 })
		})

		test('closing cancels jobs, of which at most 8 run concurrently', async () => {
			await using t = await testQueue(await open())
			// A canary waits for a relay, which does not run here.
			await t.die(30)
			const replay = { action: 'replay', source: 'orders', selection: { all: true }, canary: true }
			for (let at = 0; at < 8; at++) await run(t.queue, replay)
			await expect(run(t.queue, replay)).rejects.toThrow('fewer than 8 jobs')
			await t.queue.close()
			const { jobs } = await t.queue.overview()
			expect(jobs).toHaveLength(8)
			for (const { state } of jobs) expect(state).toBe('cancelled')
			await expect(run(t.queue, replay)).rejects.toThrow('open dashboard')
		})

		test('reports the error of the outbox, such as an id that is no dead letter', async () => {
			await using t = await testQueue(await open())
			const [id] = await t.enqueue({})
			expect(await runJob(t.queue, { action: 'replay', selection: { ids: [id] } })).toMatchObject({
				state: 'failed',
				changed: 0,
				error: expect.stringContaining('not a dead letter'),
			})
		})
	})
}
