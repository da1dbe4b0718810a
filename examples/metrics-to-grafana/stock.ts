/** The stock service, a dependency of the shop. It responds to every twentieth request with 503. */
import { createServer } from 'node:http'

const { STOCK_PORT = '4000' } = process.env

let requests = 0
const server = createServer((_request, response) => {
	requests += 1
	response.writeHead(requests % 20 === 0 ? 503 : 200).end('7 pieces')
})
server.listen(Number(STOCK_PORT), '127.0.0.1', () => console.log('The stock service listens.'))
