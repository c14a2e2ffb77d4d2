# SPDX-License-Identifier: MIT
"""What runs can be ended by its name, also when what it belonged to is gone.

A group's folder was removed, or its document broken, while its actors ran: `actor_stop`, `group_stop` and `group_delete` said
group_not_found, `muster kill` knew no such session, and only a stop of the whole daemon ended the actors. A daemon that
started after the folder was removed took the actors up again, for nobody.
"""
import os

from collab import error, group_dir, ok
from collab_actors import STUBBORN, pid_of, project, started
from harness import Daemon, Home, check, equal, eventually, read_text, remove_tree, start_time, write_text
from home import is_alive

LOOP = ("sh", "-c", "while :; do sleep 1; done")


def _orphans(d, how, *names, command=LOOP):
    """A group whose actors run and whose document is gone; with the identities of the processes."""
    group, _ = project(d, "w" + how[:4].strip())
    for name in names:
        started(d, group, name, command)
    pids = [pid_of(d, group, name) for name in names]
    who = [(pid, start_time(pid)) for pid in pids]
    if how == "gone":
        remove_tree(group_dir(d, group))
    else:
        write_text(os.path.join(group_dir(d, group), "group.yaml"), "{{{ broken")
    return group, who


def _running(d, group):
    with d.native() as n:
        return [p["object"] for p in n.result("ps")["processes"] if p["object"].startswith(group) and p["state"] == "running"]


def _ended(d, group, who):
    equal(_running(d, group), [])
    for one in who:
        eventually(lambda one=one: not is_alive(*one), what="the end of %r" % (one,))


def test_actor_stop_and_remove_of_a_lost_group():
    with Daemon(only="cccc,native") as d:
        for how in ("gone", "broken"):
            for op in ("actor_stop", "actor_remove"):
                group, who = _orphans(d, how, "a", "b")
                equal(_running(d, group), [group + "/a", group + "/b"])
                equal(error(d, op, group_id=group, actor_id="a", by="b")["code"], "group_not_found")
                equal(len(_running(d, group)), 2, "ended by somebody who may not")
                fault = error(d, op, group_id=group, actor_id="a")
                equal((fault["code"], fault["details"]), ("group_not_found", {"ended": ["a"]}))
                equal(_running(d, group), [group + "/b"])
                equal(error(d, op, group_id=group, actor_id="b", by="b")["details"], {"ended": ["b"]})
                equal(error(d, op, group_id=group, actor_id="b")["details"], {}, "nothing ran")
                _ended(d, group, who)


def test_group_stop_and_delete_of_a_lost_group():
    with Daemon(only="cccc,native") as d:
        for how in ("gone", "broken"):
            for op in ("group_stop", "group_delete"):
                group, who = _orphans(d, how, "a", "b", command=STUBBORN)
                fault = error(d, op, group_id=group)
                equal((fault["code"], sorted(fault["details"]["ended"])), ("group_not_found", ["a", "b"]))
                _ended(d, group, who)


def test_an_actor_that_was_taken_out_of_the_document():
    with Daemon(only="cccc,native") as d:
        for op in ("actor_stop", "actor_remove"):
            group, _ = project(d, op)
            started(d, group, "a", LOOP)
            who = [(pid_of(d, group, "a"), start_time(pid_of(d, group, "a")))]
            path = os.path.join(group_dir(d, group), "group.yaml")
            text = read_text(path)
            write_text(path, text[:text.index("actors:")] + "actors: []\n")
            equal(ok(d, "actor_list", group_id=group)["actors"], [])
            fault = error(d, op, group_id=group, actor_id="a")
            equal((fault["code"], fault["details"]), (op + "_failed", {"ended": ["a"]}))
            _ended(d, group, who)


def test_muster_ends_them_by_name():
    with Daemon(project=False) as d:
        for how in ("gone", "broken"):
            for words in (["kill", "%s/a"], ["group", "stop", "-g", "%s"], ["group", "delete", "%s"], ["actor", "stop", "a", "-g", "%s"],
                          ["actor", "remove", "a", "-g", "%s"]):
                group, who = _orphans(d, how, "a")
                words = [w % group if "%s" in w else w for w in words]
                check(group + "/a" in d.home.muster("ps")[1], "ps does not show it")
                status, _, complaint = d.home.muster(*words)
                equal(status, 0, "%s: %s" % (words, complaint))
                _ended(d, group, who)
                equal(d.home.muster(*words)[0], 1, "%s: nothing is left" % words)


def test_muster_kill_stops_an_actor_of_a_whole_group():
    with Daemon(project=False) as d:
        group, _ = project(d)
        started(d, group, "a", LOOP)
        equal(d.home.muster("kill", group + "/a")[0], 0)
        actor = ok(d, "actor_list", group_id=group)["actors"][0]
        equal((actor["running"], actor["enabled"]), (False, False))


def test_process_kill_by_id_and_of_a_project_that_is_gone():
    home = Home()
    try:
        agent = os.path.join(home.base, "agent")
        write_text(agent, "#!/bin/sh\nexec sleep 600\n")
        os.chmod(agent, 0o755)
        write_text(os.path.join(home.project, ".aiwg", "daemon.json"), '{"daemon": {"agent_command": "%s"}}' % agent)
        with Daemon(home=home, env={"MUSTER_SANDBOX": "none"}) as d:
            with d.aiwg() as a:
                task = a.result("task.submit", {"prompt": "x"})["taskId"]
            with d.aiwg() as a:
                a.result("task.submit", {"prompt": "y"})

            def rows():
                with d.native() as n:
                    return [p for p in n.result("ps")["processes"] if p["owner"] == "tasks" and p["state"] == "running"]
            eventually(lambda: len(rows()) == 2)
            remove_tree(home.project)
            status, _, complaint = home.muster("kill", task)
            equal(status, 0, complaint)
            left = rows()
            equal(len(left), 1)
            with d.native() as n:
                equal(n.result("process.kill", {"process": left[0]["id"], "force": True})["ending"],
                      [{"id": left[0]["id"], "owner": "tasks", "object": left[0]["object"]}])
                eventually(lambda: not rows())
                equal(n.call("process.kill", {"process": "nobody"})["error"]["code"], -32004)
    finally:
        home.remove()


def test_a_group_that_was_removed_while_no_daemon_ran():
    home = Home()
    try:
        d = Daemon(home=home, only="cccc,native")
        group, _ = project(d)
        other, _ = project(d, "other")
        for name in ("a", "b"):
            started(d, group, name, STUBBORN)
        started(d, other, "c", LOOP)
        who = [(pid_of(d, group, name), start_time(pid_of(d, group, name))) for name in ("a", "b")]
        d.kill()
        remove_tree(group_dir(d, group))
        with Daemon(home=home, only="cccc,native") as d:
            for one in who:
                eventually(lambda one=one: not is_alive(*one), what="the end of %r" % (one,))
            eventually(lambda: not _running(d, group))
            check(not os.path.exists(group_dir(d, group)), "the folder came back")
            equal(_running(d, other), [other + "/c"])
            ok(d, "group_stop", group_id=other)
    finally:
        home.remove()
