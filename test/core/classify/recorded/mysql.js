import { createServer } from 'mysql2'
import { createConnection, createPool } from 'mysql2/promise'
import { deadPort, thrownBy, withServer } from './provoke.js'

let connectionId = 1

/** Runs `use` with the port of a MySQL server that replies to every query with the error packet; undefined closes the connection. */
async function withMysql(packet, use, { atLogin = false } = {}) {
	const server = createServer()
	const connections = []
	server.on('connection', (connection) => {
		connections.push(connection)
		connection.on('error', () => {})
		connection.serverHandshake({
			protocolVersion: 10,
			serverVersion: '8.0.40',
			connectionId: connectionId++,
			statusFlags: 2,
			characterSet: 8,
			capabilityFlags: 0xffffff ^ 0x800 ^ 0x20,
			authCallback: (_, done) => done(null, atLogin ? packet : null),
		})
		// The package's server writes a placeholder instead of the SQLSTATE.
		const write = connection.writePacket.bind(connection)
		connection.writePacket = (written) => {
			const at = written.buffer.indexOf('#_____')
			if (at >= 0) written.buffer.write(packet.sqlState, at + 1)
			write(written)
		}
		connection.on('query', () => (packet ? connection.writeError(packet) : connection.stream.destroy()))
	})
	server._server.listen(0, '127.0.0.1')
	await new Promise((resolve) => server._server.once('listening', resolve))
	try {
		return await use(server._server.address().port)
	} finally {
		for (const { stream } of connections) stream.destroy()
		server._server.close()
	}
}
const login = (port, more = {}) => ({
	host: '127.0.0.1',
	port,
	user: 'shop',
	password: '',
	database: 'shop',
	...more,
})

async function query(port, options) {
	const connection = await createConnection(login(port, options))
	connection.on('error', () => {})
	try {
		return await connection.query('select 1')
	} finally {
		connection.destroy()
	}
}
const replying = (packet, options) => withMysql(packet, (port) => thrownBy(() => query(port)), options)
const error = (code, sqlState, text) => ({ code, sqlState, message: text })

/** Holds the only connection of a pool and asks for another one. */
const exhausted = (options, more = 0) =>
	withMysql(undefined, async (port) => {
		const pool = createPool(login(port, { connectionLimit: 1, ...options }))
		const held = await pool.getConnection()
		for (let index = 0; index < more; index++) pool.getConnection().catch(() => {})
		const failure = await thrownBy(() => pool.getConnection())
		held.destroy()
		return failure
	})

export const cases = {
	'mysql2: duplicate entry': () =>
		replying(error(1062, '23000', "Duplicate entry 'timeout' for key 'users.email'")),
	'mysql2: foreign key': () =>
		replying(error(1452, '23000', 'Cannot add or update a child row: a foreign key constraint fails')),
	'mysql2: no default value': () =>
		replying(error(1364, 'HY000', "Field 'total' doesn't have a default value")),
	'mysql2: syntax error': () => replying(error(1064, '42000', 'You have an error in your SQL syntax')),
	'mysql2: no such table': () => replying(error(1146, '42S02', "Table 'shop.orders' doesn't exist")),
	'mysql2: access denied': () =>
		replying(error(1045, '28000', "Access denied for user 'shop'@'localhost'"), { atLogin: true }),
	'mysql2: too many connections': () =>
		replying(error(1040, '08004', 'Too many connections'), { atLogin: true }),
	'mysql2: too many connections of the user': () =>
		replying(
			error(1203, '42000', "User shop already has more than 'max_user_connections' active connections"),
			{ atLogin: true },
		),
	'mysql2: resource limit of the user': () =>
		replying(
			error(1226, '42000', "User 'shop' has exceeded the 'max_questions' resource (current value: 9)"),
		),
	'mysql2: deadlock': () =>
		replying(error(1213, '40001', 'Deadlock found when trying to get lock; try restarting transaction')),
	'mysql2: lock wait timeout': () =>
		replying(error(1205, 'HY000', 'Lock wait timeout exceeded; try restarting transaction')),
	'mysql2: server shutdown': () => replying(error(1053, '08S01', 'Server shutdown in progress')),
	'mysql2: connection lost': () => replying(undefined),
	'mysql2: connection refused': async () => {
		const port = await deadPort()
		return thrownBy(() => query(port))
	},
	'mysql2: connect timeout': () =>
		withServer(
			() => {},
			(port) => thrownBy(() => query(port, { connectTimeout: 20 })),
		),
	'mysql2: no connections available': () => exhausted({ waitForConnections: false }),
	'mysql2: queue limit reached': () => exhausted({ queueLimit: 1 }, 1),
}
