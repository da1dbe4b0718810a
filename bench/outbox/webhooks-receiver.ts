/** A receiver of webhooks: it reads each request and returns 204, or never responds under /hang. It sends its URL to the process that started it. */
import { createServer } from 'node:http'

const server = createServer((request, response) => {
	request.resume().on('end', () => {
		if (request.url !== '/hang') response.writeHead(204).end()
	})
})
server.listen(0, '127.0.0.1', () => {
	const address = server.address()
	if (typeof address === 'object') process.send?.(`http://127.0.0.1:${address?.port}`)
})
process.on('disconnect', () => process.exit())
