import * as connect from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { resilientConnectInterceptor } from 'yaoki/grpc'
import { METHODS } from './connect-client.ts'
import { useServer } from './setup.ts'
import { testUsage } from './suites/usage.ts'

const shared = useServer()

testUsage(shared, 'grpc', METHODS)
testUsage(shared, 'connect', METHODS)

test('the interceptor has the type of Connect', () => {
	const interceptor: connect.Interceptor = resilientConnectInterceptor(connect)
	expect(interceptor).toBeTypeOf('function')
})
