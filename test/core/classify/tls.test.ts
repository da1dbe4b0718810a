/** Certificates that a client does not accept. A retry gets the same certificate, so these failures are permanent. */
import { once } from 'node:events'
import { createServer, get as nodeGet } from 'node:https'
import axios from 'axios'
import got from 'got'
import { Agent, fetch } from 'undici'
import { describe, expect, onTestFinished, test } from 'vitest'
import { classify, isRetryableNetworkError } from 'yaoki'
import { type CertificateFault, makeCertificate } from '../../http/faults/certificate.ts'
import { listen } from '../../support/listen.ts'
import { catchFailure, PERMANENT } from './expected.ts'

interface Site {
	readonly url: string
	/** The certificate itself, for a client that trusts it. */
	readonly ca: string
}

async function site(fault?: CertificateFault): Promise<Site> {
	const tls = makeCertificate(fault)
	const server = createServer(tls, (_, response) => response.end('ok'))
	server.on('tlsClientError', () => {})
	const port = await listen(server)
	onTestFinished(async () => {
		server.close()
		server.closeAllConnections()
		await once(server, 'close')
	})
	return { url: `https://127.0.0.1:${port}/`, ca: tls.cert }
}

/** `ca` is undefined for a client that does not trust the certificate. */
type Get = (url: string, ca: string | undefined) => Promise<unknown>

const CLIENTS: Readonly<Record<string, Get>> = {
	'node:https': async (url, ca) => once(nodeGet(url, { ca, agent: false }), 'response'),
	fetch: (url, ca) => fetch(url, { dispatcher: new Agent({ connect: { ca } }) }),
	axios: async (url, ca) => {
		const { Agent: HttpsAgent } = await import('node:https')
		return axios.get(url, { httpsAgent: new HttpsAgent({ ca }) })
	},
	got: (url, ca) =>
		got(url, { https: ca === undefined ? {} : { certificateAuthority: ca }, retry: { limit: 0 } }),
}

describe.each(Object.entries(CLIENTS))('%s', (_, get) => {
	test.each<[string, CertificateFault | undefined, boolean]>([
		['self-signed', undefined, false],
		['expired', 'expired', true],
		['not yet valid', 'not yet valid', true],
		['made for another host', 'wrong host', true],
	])('a certificate that is %s is permanent, and no network failure', async (_case, fault, isTrusted) => {
		const { url, ca } = await site(fault)
		const error = await catchFailure(() => get(url, isTrusted ? ca : undefined))
		expect(classify(error)).toEqual(PERMANENT)
		expect(isRetryableNetworkError(error)).toBe(false)
	})
})

test.each([
	'CERT_HAS_EXPIRED',
	'CERT_NOT_YET_VALID',
	'CERT_REVOKED',
	'CERT_SIGNATURE_FAILURE',
	'CERT_UNTRUSTED',
	'DEPTH_ZERO_SELF_SIGNED_CERT',
	'SELF_SIGNED_CERT_IN_CHAIN',
	'UNABLE_TO_GET_ISSUER_CERT',
	'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
	'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
	'UNABLE_TO_GET_CRL',
	'CRL_HAS_EXPIRED',
	'HOSTNAME_MISMATCH',
	'INVALID_CA',
	'INVALID_PURPOSE',
	'ERR_TLS_CERT_ALTNAME_INVALID',
	'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
])('code %s is permanent', (code) => {
	expect(classify(Object.assign(new Error('Other'), { code }))).toEqual(PERMANENT)
	const cause = Object.assign(new Error('Other'), { code })
	expect(classify(new TypeError('fetch failed', { cause }))).toEqual(PERMANENT)
})

test.each([
	'self-signed certificate',
	'certificate has expired',
	'unable to verify the first certificate',
	'unable to get local issuer certificate',
	"Hostname/IP does not match certificate's altnames: IP: 127.0.0.1 is not in the cert's list: ",
	'invalid peer certificate: UnknownIssuer',
])('the message "%s" alone is permanent', (message) => {
	expect(classify(new Error(message))).toEqual(PERMANENT)
})
