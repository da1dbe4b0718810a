/** The mail service: POST /mails sends one mail per message, however often the message arrives. */
import express from 'express'
import { Pool } from 'pg'

const { DATABASE_URL, PORT = '4000' } = process.env
if (!DATABASE_URL) throw new Error('Set DATABASE_URL in this terminal.')
const pool = new Pool({ connectionString: DATABASE_URL })
pool.on('error', (error) => console.error(`PostgreSQL: ${error.message}`))

const app = express()
app.post('/mails', express.json(), async (req, res) => {
	const messageId = req.get('idempotency-key') // the relay sends the id of the message
	const { id, email } = req.body as { id: string; email: string }
	if (!email.includes('@')) {
		res.status(422).json({ error: `${email} is no mail address` })
		return
	}
	const client = await pool.connect()
	try {
		await client.query('BEGIN')
		// The id and the effect are in one transaction: both are written, or neither is.
		const insert = 'INSERT INTO received VALUES ($1) ON CONFLICT DO NOTHING'
		const isNew = (await client.query(insert, [messageId])).rowCount === 1
		if (isNew) await client.query('INSERT INTO mails VALUES ($1, $2)', [id, email])
		await client.query('COMMIT')
		console.log(isNew ? `mail to ${email} for ${id}` : `duplicate for ${id}: no second mail`)
		res.status(204).end() // a duplicate is a success too: an error would cause another attempt
	} catch (error) {
		await client.query('ROLLBACK')
		throw error
	} finally {
		client.release()
	}
})

app.listen(Number(PORT), '127.0.0.1', () => console.log('The mail service listens.'))
