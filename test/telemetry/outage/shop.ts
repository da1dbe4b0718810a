/** A program with an outage: an HTTP client, policies, an outbox with a relay, webhooks, an inbox, and idempotency keys, all observed. */
import { createServer } from 'node:http'
import * as prom from 'prom-client'
import { HttpError, permanent } from '../../../src/core/index.ts'
import { ResilientHttpClient } from '../../../src/http/index.ts'
import { Outbox, Relay, sqliteOutboxStore } from '../../../src/outbox/index.ts'
import {
	type Exporter,
	type InMemoryMetrics,
	inMemoryMetrics,
	metricsEndpoint,
	observe,
	prometheus,
} from '../../../src/telemetry/index.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { listen } from '../../support/listen.ts'
import { temporaryFile } from '../../support/temporary-file.ts'
import { createDeliveries } from './deliveries.ts'
import { OwnCounts } from './own-counts.ts'
import { createPayments } from './payments.ts'
import { createPolicies, runPolicies, runTenants } from './policies.ts'
import { startUpstream } from './upstream.ts'

/** More tenants than that get the series `other`. */
export const MAX_SERIES = 60

export interface Shop extends AsyncDisposable {
	readonly metrics: InMemoryMetrics
	readonly counts: OwnCounts
	/** The ports of `/metrics`: of `inMemoryMetrics`, and of a registry of prom-client. */
	readonly ports: { readonly shop: number; readonly promClient: number }
	/** Runs some of everything. */
	round(): Promise<void>
	/** Takes the dependency and the destination down until their circuits have opened, and opened again, and then up until they are closed. */
	outage(): Promise<void>
	/** Stops the relay: nothing is counted after it. */
	stop(): Promise<void>
}

/** Runs an outage between scrapes of the shop. Returns what the last scrape returns. */
export async function runOutage<Scrape>(shop: Shop, scraped: () => Promise<Scrape>): Promise<Scrape> {
	await shop.round()
	await scraped()
	await shop.outage()
	// Rates need series that grow between scrapes.
	for (let round = 0; round < 3; round++) {
		await shop.round()
		await scraped()
	}
	await shop.stop()
	return scraped()
}

/** `others`: exporters besides those for Prometheus. */
export async function startShop(others: readonly Exporter[] = []): Promise<Shop> {
	const upstream = await startUpstream()
	const client = new ResilientHttpClient({
		baseUrl: upstream.url,
		maxRetries: 2,
		baseDelayMs: 1,
		maxDelayMs: 5,
		circuitBreaker: { failureThreshold: 5, resetTimeoutMs: 50 },
		// Without it, the budget would stop most retries of such a short run.
		budget: { minRetriesPerSecond: 1_000 },
	})
	const policies = createPolicies()
	const payments = createPayments()

	const outbox = new Outbox({ store: sqliteOutboxStore(temporaryFile()), outsideTransaction: 'allow' })
	await outbox.migrate()
	let isBillingDown = false
	const relay = new Relay(outbox, {
		destinations: {
			'order.placed': ({ payload }) => {
				if (isBillingDown) throw new HttpError(503)
				if (payload === 'broken') throw permanent(new Error('no such product'))
			},
		},
		pollMs: 20,
		retry: { maxRetries: 2, baseDelayMs: 1, maxDelayMs: 5 },
		circuitBreaker: { failureThreshold: 3, resetTimeoutMs: 50 },
	})
	const deliveries = await createDeliveries(outbox)
	/** Its tables are missing, so its statistics fail. */
	const broken = new Outbox({ store: sqliteOutboxStore(':memory:'), outsideTransaction: 'allow' })

	const counts = new OwnCounts()
	for (const policy of [client, ...Object.values(policies)]) counts.countCalls(policy)
	counts.countMessages(relay)

	const metrics = inMemoryMetrics({ maxSeries: MAX_SERIES })
	const registry = new prom.Registry()
	const stopObserving = observe(
		{ client, ...policies, outbox, relay, payments: payments.engine, broken, ...deliveries.observed },
		[metrics, prometheus(prom, { registry, maxSeries: MAX_SERIES }), ...others],
		{ service: ({ key }) => (key?.startsWith('tenant-') ? key : undefined) },
	)
	const servers = [metricsEndpoint(metrics), metricsEndpoint(registry)].map(({ node }) => createServer(node))
	const [shop = 0, promClient = 0] = await Promise.all(servers.map(listen))
	await relay.start()
	await deliveries.start()

	let rounds = 0
	const get = () => client.get('/stock').catch(() => undefined)
	const order = (payload: string) => outbox.enqueue({ topic: 'order.placed', payload })
	const until = (condition: () => boolean | Promise<boolean>) => eventuallyTrue(condition)

	return {
		metrics,
		counts,
		ports: { shop, promClient },
		async round() {
			rounds++
			upstream.mode = 'flaky'
			await Promise.all([get(), get(), get(), get()])
			upstream.mode = 'limited'
			await get()
			upstream.mode = 'up'
			await Promise.all([runPolicies(policies), payments.run(rounds), deliveries.run(rounds)])
			await order('fine')
			await order('broken')
			await outbox.enqueue({ topic: 'order.placed', payload: 'once', dedupeKey: 'once' })
			await outbox.enqueue({
				topic: 'order.placed',
				payload: 'later',
				notBefore: new Date(Date.now() + 3_600_000),
			})
		},
		async outage() {
			upstream.mode = 'down'
			isBillingDown = true
			await until(async () => {
				await Promise.all([get(), order('late')])
				return counts.circuits.reopened > 0 && counts.destinations.reopened > 0
			})
			upstream.mode = 'up'
			isBillingDown = false
			await until(async () => {
				await Promise.all([get(), order('fine')])
				const { circuits } = await outbox.stats()
				const own = circuits.find(({ destination }) => destination === 'order.placed')
				return client.circuitBreaker()?.currentState === 'closed' && own?.state === 'closed'
			})
			await runTenants(policies, 2 * MAX_SERIES)
		},
		async stop() {
			await Promise.all([relay.stop(), deliveries.stop()])
		},
		async [Symbol.asyncDispose]() {
			stopObserving()
			await relay.stop()
			await deliveries[Symbol.asyncDispose]()
			for (const server of servers) {
				server.closeAllConnections()
				server.close()
			}
			await outbox.close()
			await broken.close()
			await upstream[Symbol.asyncDispose]()
		},
	}
}
