import { QueueEvents } from 'bullmq'
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { startFaultServer } from '../http/faults/fault-server.ts'
import { hang, reset } from '../http/faults/steps.ts'
import { REDIS, startRedis } from './support/redis.ts'
import { BUSY, headersOf, json, skipBackoff } from './support/services.ts'

// CI installs it.
const isThere = REDIS !== undefined || Boolean(process.env['CI'])
const SENT = json({ id: 'm-1' }, 202)
const DOWN = json({ error: 'down' }, 500)
const AGAIN = { backoff: { type: 'fixed', delay: 1 } }

describe.runIf(isThere)('a BullMQ worker', async () => {
	const redis = await startRedis()
	const service = await startFaultServer()
	vi.stubEnv('REDIS_URL', redis.url)
	vi.stubEnv('MAIL_URL', service.origin)
	const { emails, mail, worker } = await import('./.cache/bullmq-worker/emails.ts')
	const events = new QueueEvents('emails', { connection: { url: redis.url } })
	await events.waitUntilReady()

	beforeEach(() => {
		service.requests.length = 0
	})
	afterAll(async () => {
		await Promise.all([worker.close(), emails.close(), events.close()])
		await redis.stop()
		await service.close()
		vi.unstubAllEnvs()
	})

	test('sends all requests of a job with one key, in one attempt of the job', async () => {
		service.play([BUSY, reset('request-head'), SENT])
		const job = await emails.add('welcome', { to: 'ada@example.com' })
		await job.waitUntilFinished(events)
		expect(headersOf(service, 'idempotency-key')).toEqual(Array(3).fill(`email-${job.id}`))
		expect(service.requests[2]?.body).toBe('{"to":"ada@example.com"}')
		expect((await emails.getJob(job.id ?? ''))?.attemptsMade).toBe(1)
	})

	test('keeps the key when BullMQ repeats the job, and does not multiply the retries', async () => {
		skipBackoff()
		service.play([DOWN, DOWN, DOWN, SENT])
		const job = await emails.add('welcome', { to: 'ada@example.com' }, AGAIN)
		await job.waitUntilFinished(events)
		expect(headersOf(service, 'idempotency-key')).toEqual(Array(4).fill(`email-${job.id}`))
		expect((await emails.getJob(job.id ?? ''))?.attemptsMade).toBe(2)
	})

	test('ends a job after a permanent failure', async () => {
		service.play(json({ error: 'no such address' }, 422))
		const job = await emails.add('welcome', { to: 'nowhere' }, AGAIN)
		await expect(job.waitUntilFinished(events)).rejects.toThrow('422')
		expect(service.requests).toHaveLength(1)
		expect((await emails.getJob(job.id ?? ''))?.attemptsMade).toBe(1)
	})

	test('aborts the request of a job that is cancelled', async () => {
		service.play(hang())
		const job = await emails.add('welcome', { to: 'ada@example.com' }, { attempts: 1 })
		const ending = expect(job.waitUntilFinished(events)).rejects.toThrow()
		await service.requested(1)
		worker.cancelJob(job.id ?? '', 'not needed')
		await ending
		await service.aborted(1)
		expect(service.requests).toHaveLength(1)
	})

	test('delays a job while the circuit is open, without a request or an attempt', async () => {
		service.play(SENT)
		const release = mail.circuitBreaker()?.isolate()
		const delayed = new Promise<void>((resolve) => events.once('delayed', () => resolve()))
		const job = await emails.add('welcome', { to: 'ada@example.com' }, AGAIN)
		await delayed
		expect(service.requests).toHaveLength(0)
		release?.()
		const waiting = await emails.getJob(job.id ?? '')
		expect(waiting?.attemptsMade).toBe(0)
		await waiting?.promote()
		await job.waitUntilFinished(events)
		expect(service.requests).toHaveLength(1)
	})
})
