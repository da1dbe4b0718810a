/** An attacker, who knows the URL of the receiver and not its secret. */
import { createWebhookSecret, signWebhook } from 'yaoki/webhooks'

const { RECEIVER_PORT = '4000' } = process.env
const body = '{"type":"order.placed","data":{"id":"free"}}'
const headers = await signWebhook({ id: crypto.randomUUID(), body }, createWebhookSecret())
const response = await fetch(`http://127.0.0.1:${RECEIVER_PORT}/hooks`, { method: 'POST', headers, body })
console.log(response.status, await response.text())
