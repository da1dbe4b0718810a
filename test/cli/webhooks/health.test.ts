/** What `outbox check`, `status`, `why` and `retry` say about endpoints of webhooks. */
import { expect, test } from 'vitest'
import type { HealthCheck } from '../../../src/cli/outbox/health/health-check.ts'
import { eventually } from '../../support/eventually.ts'
import { beat, failMessages } from '../outbox/fixtures.ts'
import { setup, URL_B, type WebhookDatabase } from './setup.ts'

const EVENT = { topic: 'order.placed', payload: 1 }
const NO_TX = { withoutTransaction: true } as const

async function check({ cli }: WebhookDatabase, ...args: readonly string[]) {
	const { code, stdout } = await cli('outbox', 'check', '--json', ...args)
	const { checks }: { checks: readonly HealthCheck[] } = JSON.parse(stdout)
	const failing = checks.filter(({ ok }) => !ok).map(({ name }) => name)
	return { code, failing, webhooks: checks.find(({ name }) => name === 'webhooks') }
}

/** Opens the circuit of an endpoint, as a relay does. */
const openCircuit = ({ outbox }: WebhookDatabase, id: string, reason: 'circuit-open' | 'disabled') =>
	outbox.store.changeCircuit({
		destination: `webhook:${id}`,
		state: 'open',
		failedProbes: 0,
		delayMs: 60_000,
		pausedForMs: 60_000,
		reason,
		version: 0,
	})

test('an outbox without endpoints, and one with healthy endpoints, pass', async () => {
	const shop = await setup()
	expect(await check(shop)).toMatchObject({
		code: 0,
		webhooks: { message: 'there are no endpoints of webhooks' },
	})
	await shop.create()
	const unused = await shop.create()
	await shop.webhooks.endpoints.disable(unused)
	expect(await check(shop)).toMatchObject({
		code: 0,
		webhooks: { message: '1 endpoint enabled, 0 of them failing, 1 disabled' },
	})
})

test('a disabled endpoint with queued messages fails one check, with what to do', async () => {
	const shop = await setup()
	const id = await shop.create()
	await shop.create({ url: URL_B })
	await shop.webhooks.enqueue(EVENT, NO_TX)
	await shop.webhooks.endpoints.disable(id)
	await openCircuit(shop, id, 'disabled')
	await failMessages(shop.outbox.store, `webhook:${id}`)
	await beat(shop.outbox.store)
	// Without the endpoint there are no messages that failed, and no paused destination.
	const { code, failing, webhooks } = await check(shop, '--max-attempts', '0', '--max-failing', '0')
	expect(failing).toEqual(['webhooks'])
	expect(code).toBe(4)
	expect(webhooks?.message).toBe(`disabled endpoints with queued messages: webhook:${id} (1 message)`)
	expect(webhooks?.action).toContain('yaoki webhooks enable ID --database')
	const { disabledAt } = (await shop.webhooks.endpoints.find(id)) ?? {}
	expect(new Date(webhooks?.since ?? 0)).toEqual(disabledAt)
})

test('an endpoint may fail for --max-endpoint-failing', async () => {
	const shop = await setup()
	const id = await shop.create()
	await shop.webhooks.enqueue(EVENT, NO_TX)
	await openCircuit(shop, id, 'circuit-open')
	await failMessages(shop.outbox.store, `webhook:${id}`)
	await shop.outbox.store.endpoints?.recordFailure(id)
	await beat(shop.outbox.store)
	expect(await check(shop, '--max-attempts', '0', '--max-failing', '0')).toMatchObject({
		code: 0,
		webhooks: { message: '1 endpoint enabled, 1 of them failing, 0 disabled' },
	})
	await shop.outbox.store.endpoints?.recordFailure(id)
	// The clock of the database has to go on by a millisecond.
	await eventually(async () =>
		expect(await check(shop, '--max-endpoint-failing', '0ms')).toMatchObject({
			failing: ['webhooks'],
			webhooks: { message: expect.stringContaining(`failing endpoints: webhook:${id} (for `) },
		}),
	)
})

test('endpoints of healthy customers are checked like other destinations', async () => {
	const shop = await setup()
	const id = await shop.create()
	await shop.webhooks.enqueue(EVENT, NO_TX)
	await failMessages(shop.outbox.store, `webhook:${id}`)
	await beat(shop.outbox.store)
	expect((await check(shop, '--max-attempts', '0')).failing).toContain('attempts')
})

test('status counts endpoints by state', async () => {
	const shop = await setup()
	expect((await shop.cli('outbox', 'status')).stdout).not.toContain('webhooks')
	await shop.create()
	const failing = await shop.create()
	await shop.outbox.store.endpoints?.recordFailure(failing)
	const disabled = await shop.create()
	await shop.webhooks.endpoints.disable(disabled)
	const { stdout } = await shop.cli('outbox', 'status')
	expect(stdout).toMatch(/endpoints of webhooks +number\n/)
	expect(stdout).toMatch(/enabled +2\n/)
	expect(stdout).toMatch(/of them failing +1\n/)
	expect(stdout).toMatch(/disabled by an operator +1\n/)
	expect(stdout).not.toContain('410')
	const { endpoints } = JSON.parse((await shop.cli('outbox', 'status', '--json')).stdout)
	expect(endpoints).toMatchObject({ enabled: 2, failing: 1, disabled: { operator: 1, failing: 0, gone: 0 } })
})

test('status shows the pattern of a relay, and not each endpoint that it serves', async () => {
	const shop = await setup()
	const id = await shop.create()
	await beat(shop.outbox.store, { destinations: ['billing', `webhook:${id}`, 'webhook:*'] })
	await beat(shop.outbox.store, { id: 'other', pid: 2, destinations: [`webhook:${id}`] })
	// A long name is wrapped.
	const unwrapped = (await shop.cli('outbox', 'status')).stdout.replaceAll(/\s/g, '')
	expect(unwrapped).toContain('(billing,webhook:*)')
	expect(unwrapped).toContain(`(webhook:${id})`)
	const { relays } = JSON.parse((await shop.cli('outbox', 'status', '--json')).stdout)
	expect(relays[0].destinations).toContain(`webhook:${id}`)
})

test('a retry of messages to a disabled endpoint says how to enable it', async () => {
	const shop = await setup()
	const id = await shop.create()
	await shop.webhooks.enqueue(EVENT, NO_TX)
	await shop.webhooks.endpoints.disable(id)
	await openCircuit(shop, id, 'disabled')
	const { stdout } = await shop.cli('outbox', 'retry', '--destination', `webhook:${id}`)
	expect(stdout).toContain(`is disabled. Enable it: yaoki webhooks enable ${id}`)
	const [message] = await shop.outbox.list()
	await beat(shop.outbox.store)
	const why = await shop.cli('outbox', 'why', message?.id ?? '')
	expect(why.stdout).toContain('because it is disabled')
})
