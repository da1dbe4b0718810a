import { createServer as createTlsServer } from 'node:tls'
import { createTransport } from 'nodemailer'
import { makeCertificate } from '../../../http/faults/certificate.ts'
import { deadPort, listen, thrownBy, withServer } from './provoke.js'

const MESSAGE = { from: 'a@example.com', to: 'b@example.com', subject: 'hello', text: 'hello' }

/** An SMTP server whose replies to the given commands are replaced. */
const smtp =
	(replies = {}) =>
	(socket) => {
		let isData = false
		const say = (line) => socket.write(`${line}\r\n`)
		say(replies['greeting'] ?? '220 mail.example.com ESMTP')
		socket.on('data', (chunk) => {
			for (const line of String(chunk).split('\r\n').filter(Boolean)) {
				if (isData && line !== '.') continue
				const command = isData ? 'message' : line.split(/[ :]/)[0].toUpperCase()
				isData = false
				const usual = {
					EHLO: '250-mail.example.com\r\n250 AUTH PLAIN LOGIN',
					AUTH: '235 ok',
					DATA: '354 go on',
					QUIT: '221 bye',
				}
				const reply = replies[command] ?? usual[command] ?? '250 ok'
				if (reply === 'close') return socket.destroy()
				if (command === 'DATA' && reply.startsWith('3')) isData = true
				say(reply)
			}
		})
	}

const send = (port, options = {}, message = MESSAGE) => {
	const transport = createTransport({
		host: '127.0.0.1',
		port,
		secure: false,
		ignoreTLS: true,
		connectionTimeout: 2000,
		...options,
	})
	return thrownBy(() => transport.sendMail(message))
}
const replying = (replies, options, message) =>
	withServer(smtp(replies), (port) => send(port, options, message))
const auth = { user: 'ada', pass: 'wrong' }

async function selfSigned() {
	const server = createTlsServer(makeCertificate(), smtp())
	server.on('tlsClientError', () => {})
	const port = await listen(server)
	const error = await send(port, { secure: true, ignoreTLS: false })
	server.close()
	return error
}

export const cases = {
	'nodemailer: authentication failed': () =>
		replying({ AUTH: '535 5.7.8 Authentication credentials invalid' }, { auth }),
	'nodemailer: authentication failed temporarily': () =>
		replying({ AUTH: '454 4.7.0 Temporary authentication failure' }, { auth }),
	'nodemailer: no credentials': () => replying({}, { auth: { user: 'ada' } }),
	'nodemailer: no such mailbox': () => replying({ RCPT: '550 5.1.1 No such user: timeout@example.com' }),
	'nodemailer: mailbox busy': () => replying({ RCPT: '450 4.2.1 Mailbox busy' }),
	'nodemailer: sender rejected': () => replying({ MAIL: '553 5.1.8 Sender rejected' }),
	'nodemailer: message rejected as spam': () => replying({ message: '554 5.7.1 Spam, too many requests' }),
	'nodemailer: message deferred': () => replying({ message: '451 4.3.0 Try again later' }),
	'nodemailer: service not available': () => replying({ greeting: '421 4.3.2 Service not available' }),
	'nodemailer: no recipients': () => replying({}, {}, { from: 'a@example.com', text: 'hello' }),
	'nodemailer: connection closed during the message': () => replying({ DATA: 'close' }),
	'nodemailer: connection refused': async () => send(await deadPort()),
	'nodemailer: no greeting': () =>
		withServer(
			() => {},
			(port) => send(port, { greetingTimeout: 20 }),
		),
	'nodemailer: self-signed certificate': selfSigned,
}
