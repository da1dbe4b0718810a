/**
 * A receiver of messages in its own process: this package's idempotency with its defaults and keys in an SQLite file. Its effects are
 * lines of a file, written in the transaction that stores the response, so that a killed process has either both or neither.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import { idempotency, nodeIdempotency, sqliteIdempotencyStore } from '../../../src/idempotency/index.ts'

const [file = '', port = '0'] = process.argv.slice(2)
const store = sqliteIdempotencyStore(file)
await store.migrate()
const effects = new DatabaseSync(file, { timeout: 5_000 })
effects.exec('CREATE TABLE IF NOT EXISTS effects (id TEXT NOT NULL)')
effects.close()

const engine = idempotency({ name: 'receiver', store, principal: () => 'relay' })
const server = createServer(
	nodeIdempotency(engine, async (request: IncomingMessage, _response: ServerResponse, context) => {
		const chunks: Buffer[] = []
		for await (const chunk of request) chunks.push(chunk)
		const { id, handlerMs } = JSON.parse(Buffer.concat(chunks).toString()) as {
			id: string
			handlerMs: number
		}
		process.send?.({ started: id })
		await new Promise((resolve) => setTimeout(resolve, handlerMs))
		await context.transaction(async (tx) => {
			tx.prepare('INSERT INTO effects VALUES (?)').run(id)
			return Response.json({ id }, { status: 201 })
		})
	}),
)
server.listen(Number(port), '127.0.0.1', () =>
	process.send?.({ port: (server.address() as { port: number }).port }),
)
process.once('disconnect', () => process.exit())
