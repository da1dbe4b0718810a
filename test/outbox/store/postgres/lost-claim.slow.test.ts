/** A claim that PostgreSQL commits while the connection of the relay breaks. */
import { connect, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { Outbox, Relay } from 'yaoki/outbox'
import { postgresOutboxStore } from '../../../../src/outbox/store/postgres/postgres-store.ts'
import { eventually } from '../../../support/eventually.ts'
import { listen } from '../../../support/listen.ts'
import { setup } from './setup.ts'

const postgres = setup()

/** The end of a response: the server has committed and is ready for the next statement. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

interface LossyProxy {
	/** Of the database, through the proxy. */
	readonly connectionString: string
	/** The number of responses that were lost. */
	readonly losses: number
}

/** Forwards to the server. The first `times` responses that contain `text` are lost with their connections, when the server has sent them completely. */
async function lossyProxy(text: string, times: number): Promise<LossyProxy> {
	const url = new URL(postgres.pool.options.connectionString ?? '')
	const { hostname, port } = url
	const sockets = new Set<Socket>()
	let losses = 0
	const server = createServer((client) => {
		const upstream = connect(Number(port), hostname)
		let lost: Buffer | undefined
		upstream.on('data', (data) => {
			if (!lost && (losses === times || !data.includes(text))) {
				client.write(data)
				return
			}
			if (!lost) losses++
			lost = Buffer.concat([lost ?? Buffer.alloc(0), data])
			if (lost.subarray(-READY.length).equals(READY)) client.destroy()
		})
		client.on('data', (data) => upstream.write(data))
		for (const [socket, other] of [
			[client, upstream],
			[upstream, client],
		] as const) {
			sockets.add(socket)
			socket.on('error', () => {
				// The test breaks connections on purpose.
			})
			socket.on('close', () => other.destroy())
		}
	})
	url.port = String(await listen(server))
	url.hostname = '127.0.0.1'
	onTestFinished(() => {
		for (const socket of sockets) socket.destroy()
		server.close()
	})
	return {
		connectionString: url.href,
		get losses() {
			return losses
		},
	}
}

/** Much longer than the test. */
const LEASE_MS = 600_000

test.each([
	['unordered', false],
	['ordered', true],
])(
	'messages of a claim whose response was lost are sent once, long before their lease ends: %s',
	async (_, order) => {
		const proxy = await lossyProxy('lost-once', 2)
		const store = postgresOutboxStore({
			client: postgres.anotherPool({ connectionString: proxy.connectionString }),
			schema: postgres.schema,
		})
		const outbox = new Outbox({ store, outsideTransaction: 'allow' })
		const ids = Array.from({ length: 30 }, (_, n) => n)
		const messages = ids.map((n) => ({ topic: 'a', key: `k${n % 3}`, payload: { n, text: 'lost-once' } }))
		await new Outbox({ store: postgres.store, outsideTransaction: 'allow' }).enqueue(messages)
		const sent: { readonly n: number; readonly attempts: number }[] = []
		const relay = new Relay(outbox, {
			leaseMs: LEASE_MS,
			destinations: {
				a: {
					order,
					deliver: ({ payload, attempts }) => {
						sent.push({ n: (payload as { n: number }).n, attempts })
					},
				},
			},
		})
		onTestFinished(() => relay.stop({ timeoutMs: 1 }))
		await relay.start()
		await eventually(async () => expect(await postgres.store.list({}, 100)).toEqual([]))
		await relay.stop()
		expect(proxy.losses).toBe(2)
		expect(sent.map(({ n }) => n).toSorted((a, b) => a - b)).toEqual(ids)
		expect(sent.filter(({ attempts }) => attempts !== 1)).toEqual([])
		for (const key of [0, 1, 2]) {
			const ofKey = sent.map(({ n }) => n).filter((n) => n % 3 === key)
			if (order) expect(ofKey).toEqual(ofKey.toSorted((a, b) => a - b))
		}
	},
)
