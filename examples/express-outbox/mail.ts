/** The mail service: POST /mails sends one mail per message, however often the message arrives. */
import express from 'express'
import { Pool } from 'pg'
import { Inbox, postgresInboxStore } from 'yaoki/outbox'

const { DATABASE_URL, PORT = '4000' } = process.env
if (!DATABASE_URL) throw new Error('Set DATABASE_URL in this terminal.')
const pool = new Pool({ connectionString: DATABASE_URL })
pool.on('error', (error) => console.error(`PostgreSQL: ${error.message}`))

const inbox = new Inbox({ store: postgresInboxStore({ client: pool }), name: 'mail' })
await inbox.migrate() // its table

const app = express()
app.post('/mails', express.json(), async (req, res) => {
	const messageId = req.get('idempotency-key') ?? '' // the relay sends the id of the message
	const { id, email } = req.body as { id: string; email: string }
	if (!email.includes('@')) {
		res.status(422).json({ error: `${email} is no mail address` })
		return
	}
	const client = await pool.connect()
	try {
		await client.query('BEGIN')
		// The id and the effect are in one transaction: both are written, or neither is.
		const { isDuplicate } = await inbox.once(messageId, { tx: client }, () =>
			client.query('INSERT INTO mails VALUES ($1, $2)', [id, email]),
		)
		await client.query('COMMIT')
		console.log(isDuplicate ? `duplicate for ${id}: no second mail` : `mail to ${email} for ${id}`)
		res.status(204).end() // a duplicate is a success too: an error would cause another attempt
	} catch (error) {
		await client.query('ROLLBACK')
		throw error
	} finally {
		client.release()
	}
})

app.listen(Number(PORT), '127.0.0.1', () => console.log('The mail service listens.'))
